"""A figure with its interval, as all results have it: see :mod:`hsd_viz.results.bootstrap`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.errors import UserError

#: The fewest units (prompts, requests, runs) of an interval that is shown: resamples of fewer are
#: the same few again.
LEAST = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; each part is ``None`` where it is not defined or unknown.

    Attributes:
        value: the figure.
        low: the lower quantile of its resamples.
        high: the upper quantile.
        units: how many units were resampled.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    units: int | None = field(default=None, compare=False)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The quantiles, of any number of units."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; ``None`` with fewer units than :data:`LEAST`."""
        if self.units is not None and self.units < LEAST:
            return None
        return self.ends

    def named(self, name: str) -> dict[str, Any]:
        """Return the value and the quantiles as the JSON fields ``name`` and ``name_ci``."""
        ends = None if self.ends is None else list(self.ends)
        return {name: self.value, f"{name}_ci": ends}


UNKNOWN = Estimate()


def estimate_data(data: Mapping[str, Any], name: str, units: Any) -> dict[str, Any]:
    """Return the fields of an estimate of so many units, of JSON data that has it as ``name`` and
    ``name_ci`` (:meth:`Estimate.named`).

    Raises:
        UserError: if it is missing, or the interval does not have two ends.
    """
    if name not in data:
        raise UserError(f"{name} is missing")
    ends = data.get(f"{name}_ci") or (None, None)
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UserError(f"{name}_ci is {ends!r:.60}: expected the two ends of an interval")
    return {"value": data[name], "low": ends[0], "high": ends[1], "units": units}
