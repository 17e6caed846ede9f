"""The registry of exercises, and :func:`check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hsd_viz.exercises.result import Case, Exercise, Result, judge
from hsd_viz.words import did_you_mean

EXERCISES: dict[str, Exercise] = {}


def exercise(number: str, title: str, *hints: str, success: str = "all {} cases agree") -> Callable:
    """Register the cases of an exercise."""

    def register(cases: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
        EXERCISES[number] = Exercise(number, title, hints, cases, success)
        return cases

    return register


def check(number: str, answer: Any) -> Result:
    """Check an answer to an exercise of the course, offline and without timing.

    Raises: ValueError: if there is no such exercise.
    """
    if number not in EXERCISES:
        hint = did_you_mean(str(number), EXERCISES)
        raise ValueError(f"there is no exercise {number!r} (use {', '.join(EXERCISES)}){hint}")
    return judge(EXERCISES[number], answer)
