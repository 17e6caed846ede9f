"""Bootstrap intervals, implemented once for all results. Needs only numpy."""

from __future__ import annotations

import numpy as np

from hsd_viz.results.estimate import UNKNOWN, Estimate

#: Number of resamples.
RESAMPLES = 1000
#: The quantiles of a 95 % interval.
QUANTILES = (0.025, 0.975)


def resample(units: int, seed: int = 0, resamples: int = RESAMPLES) -> np.ndarray:
    """Return the weights ``[1 + resamples, units]`` of the units.

    Row 0 is the sample, the other rows are its resamples. ``weights @ values`` are then the sums of
    a figure over the sample and its resamples; the ratio of two such sums is a paired bootstrap.
    """
    sample = np.ones((1, units), int)
    if not units:
        return sample
    shares = np.full(units, 1 / units)
    resampled = np.random.default_rng(seed).multinomial(units, shares, size=resamples)
    return np.vstack([sample, resampled])


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide element by element; NaN where the denominator is not positive."""
    undefined = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)


def estimate(samples: np.ndarray, units: int) -> Estimate:
    """Return the estimate of ``[1 + resamples]`` values in the order of :func:`resample`.

    Undefined values are NaN.
    """
    value = float(samples[0])
    if np.isnan(value):
        return UNKNOWN
    resampled = samples[1:]
    resampled = resampled[~np.isnan(resampled)]
    if units < 2 or not len(resampled):  # every resample of a single unit equals it
        return Estimate(value)
    low, high = np.quantile(resampled, QUANTILES)
    return Estimate(value, float(low), float(high), units)
