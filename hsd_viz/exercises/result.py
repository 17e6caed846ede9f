"""The result of a check: passed, or the first counter-example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple


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


def judge(exercise: Exercise, answer: Any) -> Result:
    """Compare an answer with every case of the exercise, up to the first that differs."""
    number = 0
    try:
        for case in exercise.cases(answer):
            number += 1
            if not equal(case.got, case.expected, exercise.tolerance):
                return Result(exercise, False, f"{case.asked}: got {show(case.got)}, expected {show(case.expected)}.")
    except NotImplementedError:
        return Result(exercise, False, "nothing is written yet.")
    except Exception as error:  # an answer may fail in any way
        return Result(
            exercise, False, f"after {number} correct cases the answer raised {type(error).__name__}: {error}"
        )
    return Result(exercise, True, f"all {number} cases agree.")


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
