"""The inputs of the lab sheet: its logs."""

from __future__ import annotations

from fractions import Fraction

from hsd_viz.exercises import data
from hsd_viz.exercises.cases.values import Inputs
from hsd_viz.exercises.check import ExerciseCase, call, exercise

TIMES = {"plain_speed": 40, "step_ms": 25, "draft_ms": 21, "verify_ms": 28}


@exercise("L1")
def lengths_of_rates() -> Inputs:
    rates = [Fraction(4, 5), Fraction(11, 20), Fraction(1, 3)]
    for count in (0, 1, 3):
        yield (rates[:count],)


@exercise("L2")
def advised_lengths() -> Inputs:
    cheap = TIMES | {"draft_ms": 3}
    for name, times in (
        ("chat.log", TIMES),
        ("chat.log", cheap),
        ("busy.log", {"plain_speed": 30}),
    ):
        description = f"best_length(path({name!r}), {times})"
        yield ExerciseCase(description, call(data.lab_log(name), times))


@exercise("L3")
def best_copiers() -> Inputs:
    for cost in ("cpu", "free16", "0.4"):
        description = f"best_copier(path('edits.jsonl'), cost={cost!r})"
        yield ExerciseCase(description, call(data.lab_log("edits.jsonl"), cost))


@exercise("L4")
def advised_methods() -> Inputs:
    for name in ("chat.log", "edits.jsonl", "busy.log"):
        yield (name,)
