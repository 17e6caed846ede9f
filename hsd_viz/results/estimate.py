"""A figure with its interval (:mod:`hsd_viz.results.bootstrap`), used by all results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.errors import UserError

#: Minimum number of units (prompts, requests, runs) of a shown interval; fewer units have too few
#: different resamples.
MIN_UNITS = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval. A part is ``None`` if it is undefined or unknown.

    Attributes:
        value: the figure.
        low: the lower quantile of its resamples.
        high: the upper quantile.
        units: the number of resampled units.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    units: int | None = field(default=None, compare=False)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The quantiles, for any number of units."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; ``None`` with fewer units than :data:`MIN_UNITS`."""
        if self.units is not None and self.units < MIN_UNITS:
            return None
        return self.ends

    def named(self, name: str) -> dict[str, Any]:
        """Return the value and the quantiles as the JSON fields ``name`` and ``name_ci``."""
        ends = None if self.ends is None else list(self.ends)
        return {name: self.value, f"{name}_ci": ends}


UNKNOWN = Estimate()


def estimate_data(data: Mapping[str, Any], name: str, units: Any) -> dict[str, Any]:
    """Return the fields of an estimate from JSON data with the fields ``name`` and ``name_ci``
    (:meth:`Estimate.named`); ``units`` is the number of units.

    Raises:
        UserError: if it is missing, or the interval does not have two ends.
    """
    if name not in data:
        raise UserError(f"{name} is missing")
    ends = data.get(f"{name}_ci") or (None, None)
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UserError(f"{name}_ci is {ends!r:.60}: expected the two ends of an interval")
    return {"value": data[name], "low": ends[0], "high": ends[1], "units": units}
