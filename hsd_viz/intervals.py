"""Estimates with bootstrap intervals: one implementation for benches and experiments. Needs numpy alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RESAMPLES = 1000
#: The quantiles of a 95 % interval.
QUANTILES = (0.025, 0.975)
#: The fewest units (prompts, requests, runs) of an interval that is shown: resamples of fewer are the same few again.
LEAST = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with the quantiles of its resamples, and how many units were resampled; each is ``None`` where it is not
    defined (no data, a single unit) or unknown.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    units: int | None = field(default=None, compare=False)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The quantiles, of any number of units."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def named(self, name: str) -> dict[str, Any]:
        """Return the value and the quantiles as the JSON fields ``name`` and ``name_ci``."""
        return {name: self.value, f"{name}_ci": self.ends and list(self.ends)}

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval; ``None`` with fewer units than :data:`LEAST`."""
        return None if self.units is not None and self.units < LEAST else self.ends


UNKNOWN = Estimate()


def resample(units: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """Return ``[1 + resamples, units]``: how often each unit counts in the sample (row 0) and in its resamples.
    ``weights @ values`` are then the sums of a figure and of its resamples; a ratio of two is a paired bootstrap.
    """
    whole = np.ones((1, units), int)
    if not units:
        return whole
    return np.vstack(
        [
            whole,
            np.random.default_rng(seed).multinomial(
                units, np.full(units, 1 / units), size=resamples
            ),
        ]
    )


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide element by element; NaN where the denominator is not positive."""
    return np.divide(
        numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0
    )


def estimate(samples: np.ndarray, units: int) -> Estimate:
    """Return the estimate of ``[1 + resamples]`` values in the order of :func:`resample`, NaN where undefined."""
    value, resampled = float(samples[0]), samples[1:][~np.isnan(samples[1:])]
    if np.isnan(value):
        return UNKNOWN
    if units < 2 or not len(resampled):  # each resample of a single unit is the unit itself
        return Estimate(value)
    low, high = np.quantile(resampled, QUANTILES)
    return Estimate(value, float(low), float(high), units)
