"""The number with an interval: estimates and their bootstrap, one implementation for all results.

Needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RESAMPLES = 1000
#: The quantiles of a 95 % interval.
QUANTILES = (0.025, 0.975)
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


def estimate_data(data: Mapping[str, Any], name: str, units: int) -> dict[str, Any]:
    """Return the fields of an estimate of so many units, of JSON data that has it as ``name`` and
    ``name_ci`` (:meth:`Estimate.named`).
    """
    low, high = data.get(f"{name}_ci") or (None, None)
    return {"value": data[name], "low": low, "high": high, "units": units}


def resample(units: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """Return ``[1 + resamples, units]``: how often each unit counts.

    Row 0 is the sample, the others are its resamples. ``weights @ values`` are then the sums of a
    figure and of its resamples; a ratio of two is a paired bootstrap.
    """
    sample = np.ones((1, units), int)
    if not units:
        return sample
    shares = np.full(units, 1 / units)
    drawn = np.random.default_rng(seed).multinomial(units, shares, size=resamples)
    return np.vstack([sample, drawn])


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide element by element; NaN where the denominator is not positive."""
    undefined = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def estimate(samples: np.ndarray, units: int) -> Estimate:
    """Return the estimate of ``[1 + resamples]`` values in the order of :func:`resample`.

    Values are NaN where they are not defined.
    """
    value = float(samples[0])
    if np.isnan(value):
        return UNKNOWN
    resampled = samples[1:]
    resampled = resampled[~np.isnan(resampled)]
    if units < 2 or not len(resampled):  # each resample of a single unit is the unit itself
        return Estimate(value)
    low, high = np.quantile(resampled, QUANTILES)
    return Estimate(value, float(low), float(high), units)
