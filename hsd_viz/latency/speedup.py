"""Estimates of the speed-up over plain decoding, limited by the bound that it cannot exceed.

A round of speculation verifies at least one token, so it takes at least as long as a plain decoding
step, and it emits L tokens. Therefore speed-up ≤ L, the number of tokens per forward pass. A larger
quotient of measured times shows that the plain decoding step was measured too slow, or the round
too fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, hypot, log, sqrt
from statistics import fmean, stdev

from hsd_viz.results.estimate import Estimate

#: The 0.975 quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them the normal
#: quantile is used.
_STUDENT: tuple[float, ...]
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_STUDENT += (2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
#: The number of standard errors on each side of a 95 % interval.
Z = 1.959964
#: The smallest difference from 1 that a measurement has to resolve.
RESOLVED = 0.02
#: The largest number of repetitions that is recommended.
MAX_REPEATS = 10_000


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A speed-up over plain decoding.

    Attributes:
        estimate: the value and its 95 % interval, limited by the bound.
        bound: the number of tokens per forward pass, which is the largest possible value.
        capped: the value before it was limited; ``None`` if it was within the bound.
    """

    estimate: Estimate
    bound: float
    capped: float | None = None

    @property
    def note(self) -> str:
        """A message about a measurement that exceeds the bound; "" if it is within the bound."""
        if self.capped is None:
            return ""
        return (
            f"the times give {self.capped:.2f} at {self.bound:.2f} tokens per forward pass, which "
            "is impossible: the plain decoding step was measured too slow"
        )


def speed_up(value: float, error: float, tokens_per_pass: float) -> SpeedUp:
    """Return a speed-up with its interval, both limited to ``tokens_per_pass``.

    Args:
        value: the tokens per forward pass, divided by the time of a round in plain decoding steps.
        error: the half width of the 95 % interval of the logarithm of ``value``.
        tokens_per_pass: the number of emitted tokens per forward pass of the target.
    """
    estimate = Estimate(value, value * exp(-error), value * exp(error))
    return bounded(estimate, tokens_per_pass)


def bounded(estimate: Estimate, tokens_per_pass: float) -> SpeedUp:
    """Return an estimate of a speed-up, with value and interval limited to ``tokens_per_pass``."""
    if estimate.value is None:
        return SpeedUp(estimate, tokens_per_pass)
    # The figures of a run are rounded, so only a clear excess shows a wrong measurement.
    excess = estimate.value > tokens_per_pass * (1 + 1e-9)
    low = None if estimate.low is None else min(estimate.low, tokens_per_pass)
    high = None if estimate.high is None else min(estimate.high, tokens_per_pass)
    within = replace(estimate, value=min(estimate.value, tokens_per_pass), low=low, high=high)
    clear = excess and estimate.value > 1.01 * tokens_per_pass
    return SpeedUp(within, tokens_per_pass, estimate.value if clear else None)


def student(repeats: int) -> float:
    """Return the number of standard errors on each side of the 95 % interval of a mean."""
    freedom = repeats - 1
    if freedom < 1:
        return Z
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else Z


def repeated(speedups: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the logarithms of repeated speed-ups, and the half width of its interval.

    Student's quantile is used, because with few repetitions the spread itself is uncertain.
    """
    logs = [log(speedup) for speedup in speedups]
    return fmean(logs), student(len(logs)) * stdev(logs) / sqrt(len(logs))


def repeats_to_decide(speedups: Sequence[float], value: float) -> int:
    """Return the number of further repetitions that decide whether a speed-up is above 1."""
    spread = stdev(log(speedup) for speedup in speedups)
    distance = max(abs(log(value)), RESOLVED)
    repeats = len(speedups)
    while repeats < MAX_REPEATS and student(repeats) * spread / sqrt(repeats) >= distance:
        repeats += 1 if repeats < 40 else ceil(repeats / 10)
    return max(1, repeats - len(speedups))


def combined(timing: float, rounds: float) -> float:
    """Return the half width of an interval that combines the errors of times and of rounds."""
    return hypot(timing, rounds)
