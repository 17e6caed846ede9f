"""The inputs of lessons 7 and 8: the latency law, and honest measurements."""

from __future__ import annotations

from itertools import product

import numpy as np

from hsd_viz.exercises import data
from hsd_viz.exercises.cases.values import ALPHAS, CURVES, Inputs
from hsd_viz.exercises.check import ExerciseCase, call, exercise
from hsd_viz.results.bootstrap import resample

# Lesson 7: the latency law. Lookaheads 0 and 1 are equally fast where alpha = c; the last best one
# is limited by 32.


@exercise("7.1")
def tokens_per_round() -> Inputs:
    yield from product(ALPHAS, range(9))


@exercise("7.2")
def times_per_token() -> Inputs:
    yield from product((0.0, 0.35, 0.7, 0.95), (1, 2, 4, 9), (0.0, 0.2, 3.0), (2.0,))


@exercise("7.3")
def best_lookaheads() -> Inputs:
    yield from product((0.1, 0.3, 0.5, 0.7, 0.9), (0.02, 0.12, 0.25, 0.6))
    yield 0.99, 0.001
    yield 0.5, 0.5
    yield 0.25, 0.25


@exercise("7.4")
def speedups_on_curves() -> Inputs:
    yield from product((0.0, 0.4, 0.8), (1, 3, 8), (0.3,), CURVES)


# Lesson 8: measure honestly.


@exercise("8.1")
def repetition_shares() -> Inputs:
    for trace, ids, start in data.texts():
        for n in (0, 7, 40, len(ids)):
            output = ids[start : start + n]
            description = f"repetition_share of {len(output)} tokens of '{trace.stack}'"
            yield ExerciseCase(description, call(output))
    yield ([1] * 16,)


@exercise("8.2")
def measured_speedups() -> Inputs:
    for seed, units in product(range(3), (2, 6, 12)):
        numbers = np.random.default_rng(seed)
        baseline = numbers.uniform(1, 3, units)
        seconds = baseline / numbers.uniform(0.8, 2.5, units)
        weights = resample(units, seed)
        yield ExerciseCase(
            f"speedup of {units} prompts, seed {seed}", call(baseline, seconds, weights)
        )
