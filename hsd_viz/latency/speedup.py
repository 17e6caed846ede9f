"""The speed-up over plain decoding, made in one place, with the bound that it cannot exceed.

A round of speculation verifies at least one token, so it takes at least a plain decoding step; it
emits L tokens. Therefore speed-up ≤ L, the tokens per forward pass. A larger quotient of measured
times says that the plain decoding step was measured too slow, or the round too fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, hypot, log, sqrt
from statistics import fmean, stdev

from hsd_viz.results.estimate import Estimate

#: Quantiles 0.975 of Student's t by degrees of freedom, from 1; beyond: the normal one.
_STUDENT: tuple[float, ...]
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_STUDENT += (2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
#: Standard errors on each side of a 95 % interval.
Z = 1.959964
#: The smallest difference from 1 that a measurement is asked to resolve.
RESOLVED = 0.02
#: Repetitions that are asked for at most.
MOST_REPEATS = 10_000


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A speed-up over plain decoding.

    Attributes:
        estimate: its value and 95 % interval, within the bound.
        capped: the value before the bound, where it was above it; else ``None``.
        bound: tokens per forward pass: the largest possible value.
    """

    estimate: Estimate
    bound: float
    capped: float | None = None

    @property
    def note(self) -> str:
        """What the bound says of the measurement, "" where it holds."""
        if self.capped is None:
            return ""
        return (
            f"the times give {self.capped:.2f} at {self.bound:.2f} tokens per forward pass, which "
            "is impossible: the plain decoding step was measured too slow"
        )


def speed_up(value: float, error: float, tokens_per_pass: float) -> SpeedUp:
    """Return a speed-up with its interval, both at most ``tokens_per_pass``.

    Args:
        value: tokens per pass over the time of a round in plain decoding steps.
        error: half the width of the 95 % interval of its logarithm.
        tokens_per_pass: emitted tokens per forward pass of the target.
    """
    estimate = Estimate(value, value * exp(-error), value * exp(error))
    return bounded(estimate, tokens_per_pass)


def bounded(estimate: Estimate, tokens_per_pass: float) -> SpeedUp:
    """Return an estimate of a speed-up, its value and interval at most ``tokens_per_pass``."""
    if estimate.value is None:
        return SpeedUp(estimate, tokens_per_pass)
    # Figures of one run are rounded: only a clear excess is a wrong measurement.
    excess = estimate.value > tokens_per_pass * (1 + 1e-9)
    low = None if estimate.low is None else min(estimate.low, tokens_per_pass)
    high = None if estimate.high is None else min(estimate.high, tokens_per_pass)
    within = replace(estimate, value=min(estimate.value, tokens_per_pass), low=low, high=high)
    clear = excess and estimate.value > 1.01 * tokens_per_pass
    return SpeedUp(within, tokens_per_pass, estimate.value if clear else None)


def student(repeats: int) -> float:
    """Return the standard errors on each side of a 95 % interval of a mean of measurements."""
    freedom = repeats - 1
    if freedom < 1:
        return Z
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else Z


def repeated(speedups: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the logarithms of repeated speed-ups, and the half width of its interval.

    With few repetitions the spread itself is uncertain: Student's quantile.
    """
    logs = [log(speedup) for speedup in speedups]
    return fmean(logs), student(len(logs)) * stdev(logs) / sqrt(len(logs))


def repeats_to_decide(speedups: Sequence[float], value: float) -> int:
    """Return how many further repetitions would decide on which side of 1 a speed-up is."""
    spread = stdev(log(speedup) for speedup in speedups)
    distance = max(abs(log(value)), RESOLVED)
    repeats = len(speedups)
    while repeats < MOST_REPEATS and student(repeats) * spread / sqrt(repeats) >= distance:
        repeats += 1 if repeats < 40 else ceil(repeats / 10)
    return max(1, repeats - len(speedups))


def combined(timing: float, rounds: float) -> float:
    """Return the half width of an interval from those of times and of rounds."""
    return hypot(timing, rounds)
