"""The registry of exercises, and :func:`check` with its result: passed, or the first counter-example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from hsd_viz.words import did_you_mean


class Case(NamedTuple):
    """One comparison: what was asked, as the learner reads it, the answer's value and the expected one."""

    asked: str
    got: Any
    expected: Any


@dataclass(frozen=True)
class Exercise:
    """An exercise: ``cases(answer)`` yields its comparisons, ``hints`` lead to the solution without stating it.

    ``tolerance`` is the allowed relative error; 0 requires equality.
    """

    number: str
    title: str
    hints: tuple[str, ...]
    cases: Callable[[Any], Iterator[Case]]
    tolerance: float = 0.0


@dataclass(frozen=True)
class Result:
    """The verdict on an answer. It is true if the answer passed; :meth:`hint` returns one hint at a time."""

    exercise: Exercise
    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def hint(self, n: int = 1) -> str:
        """Return hint ``n``, from 1. Raises: ValueError: if there are fewer hints."""
        hints = self.exercise.hints
        if not 1 <= n <= len(hints):
            raise ValueError(f"exercise {self.exercise.number} has hints 1 to {len(hints)}, not {n}")
        return hints[n - 1]

    def __repr__(self) -> str:
        mark = "✓ passed" if self.passed else "✗ not yet"
        return f"{mark} · {self.exercise.number} {self.exercise.title}: {self.message}"

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.passed else "#cf222e"
        mark, _, text = repr(self).partition(" · ")
        return (
            f'<div style="border-left:4px solid {colour};padding:4px 12px"><b>{mark}</b> · '
            f'<span style="white-space:pre-wrap">{escape(text)}</span></div>'
        )


EXERCISES: dict[str, Exercise] = {}


def exercise(number: str, title: str, *hints: str, tolerance: float = 0.0) -> Callable:
    """Register the cases of an exercise."""

    def register(cases: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
        EXERCISES[number] = Exercise(number, title, hints, cases, tolerance)
        return cases

    return register


def check(number: str, answer: Any) -> Result:
    """Check an answer to an exercise of the course, offline and without timing, up to the first case that differs.

    Raises: ValueError: if there is no such exercise.
    """
    if number not in EXERCISES:
        hint = did_you_mean(str(number), EXERCISES)
        raise ValueError(f"there is no exercise {number!r} (use {', '.join(EXERCISES)}){hint}")
    asked, agreed = EXERCISES[number], 0
    try:
        for case in asked.cases(answer):
            if not equal(case.got, case.expected, asked.tolerance):
                return Result(asked, False, f"{case.asked}: got {show(case.got)}, expected {show(case.expected)}.")
            agreed += 1
    except NotImplementedError:
        return Result(asked, False, "nothing is written yet.")
    except Exception as error:  # an answer may fail in any way
        why = f"{type(error).__name__}: {error}"
        return Result(asked, False, f"after {agreed} correct cases the answer raised {why}")
    return Result(asked, True, f"all {agreed} cases agree.")


def equal(got: Any, expected: Any, tolerance: float = 0.0) -> bool:
    """Return whether two values agree, element by element in lists and tuples."""
    if isinstance(expected, (list, tuple)):
        try:
            items = list(got)
        except TypeError:
            return False
        return len(items) == len(expected) and all(equal(a, b, tolerance) for a, b in zip(items, expected, strict=True))
    if got is None or expected is None:
        return got is expected
    try:
        if tolerance:
            return bool(abs(got - expected) <= tolerance * max(1.0, abs(expected)))
        return bool(got == expected)
    except (TypeError, ValueError):
        return False


def show(value: Any) -> str:
    """Return a short text of a value."""
    if isinstance(value, (list, tuple)):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(show, value)) + right
    text = str(value) if hasattr(value, "numerator") and not isinstance(value, bool) else repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def row_text(row: Sequence[Any]) -> str:
    """Return a distribution as text: fractions are easier to read than their representation."""
    return "[" + ", ".join(map(str, row)) + "]"
