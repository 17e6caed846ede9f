"""Schedules of the learning rate in training, as a share of its peak."""

from __future__ import annotations

import math


def linear_schedule(step: int, steps: int, *, warmup: int, decay: float, floor: float) -> float:
    """Return the share at a step: rising, constant, falling.

    Args:
        step: the step, from 0.
        steps: the number of steps.
        warmup: the steps in which it rises.
        decay: the share of the steps in which it falls.
        floor: the share of the peak to which it falls.
    """
    rise = min(1.0, (step + 1) / max(1, warmup))
    remaining_share = (steps - step) / max(1.0, decay * steps)
    return rise * (floor + (1 - floor) * min(1.0, remaining_share))


def cosine_schedule(step: int, steps: int, *, warmup: int = 30) -> float:
    """Return the share at a step: rising, then half a cosine to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, progress)))
