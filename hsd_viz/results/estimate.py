"""A figure with its interval (:mod:`hsd_viz.results.bootstrap`), used by all results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.errors import UserError

#: Minimum number of units (prompts, requests, runs) of a shown interval; fewer units have too few
#: different resamples.
MIN_UNITS = 5
#: The text of a figure that is undefined or unknown.
NOT_MEASURED = "-"


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

    def as_text(self, form: str = "{}", *, factor: float = 1.0, unit: str = "") -> str:
        """Format the figure with its interval, as in ``1.24× [1.10, 1.37]``.

        Args:
            form: the format of each number.
            factor: a factor of all numbers.
            unit: what follows the figure.
        """
        if self.value is None:
            return NOT_MEASURED
        numbers = [self.value, *(self.interval or ())]
        if factor != 1:
            numbers = [factor * number for number in numbers]
        figure, *ends = [form.format(number) for number in numbers]
        interval = f" [{', '.join(ends)}]" if ends else ""
        return f"{figure}{unit}{interval}"

    def span(self, form: str = "{}") -> str:
        """Format the quantiles, as in ``1.10 to 1.37``; "–" without them."""
        if self.ends is None:
            return "–"
        return " to ".join(form.format(end) for end in self.ends)

    def named(self, name: str) -> dict[str, Any]:
        """Return the value and the quantiles as the JSON fields ``name`` and ``name_ci``."""
        ends = None if self.ends is None else list(self.ends)
        return {name: self.value, f"{name}_ci": ends}


UNKNOWN = Estimate()


def estimate_of(data: Mapping[str, Any], name: str, units: Any = None) -> Estimate:
    """Return the estimate in the JSON fields ``name`` and ``name_ci`` (:meth:`Estimate.named`).

    The types of its numbers are those of the data. ``units`` is the number of units.

    Raises:
        UserError: if it is missing, or the interval does not have two ends.
    """
    if name not in data:
        raise UserError(f"{name} is missing")
    ends = data.get(f"{name}_ci") or (None, None)
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise UserError(f"{name}_ci is {ends!r:.60}: expected the two ends of an interval")
    return Estimate(value=data[name], low=ends[0], high=ends[1], units=units)
