"""The registry of exercises, and :func:`check` with its result: passed, or the first counter-example."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from numbers import Number
from typing import Any, NamedTuple

from hsd_viz.words import did_you_mean


class Refused(ValueError):
    """An answer that cannot be compared; the message says why."""


class Case(NamedTuple):
    """One comparison: what was asked, as the learner reads it, the answer's value and the expected one."""

    asked: str
    got: Any
    expected: Any


@dataclass(frozen=True)
class Exercise:
    """An exercise: ``cases(answer)`` yields its comparisons, ``hints`` lead to the solution without stating it.
    ``success`` is the message of a right answer, for the number of cases.
    """

    number: str
    title: str
    hints: tuple[str, ...]
    cases: Callable[[Any], Iterator[Case]]
    success: str = "all {} cases agree"


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
        if n not in range(1, len(hints) + 1):
            raise ValueError(f"exercise {self.exercise.number} has hints 1 to {len(hints)}, not {n!r}")
        return hints[int(n) - 1]

    def __repr__(self) -> str:
        mark = "✓ passed" if self.passed else "✗ not yet"
        more = "" if self.passed else " Append .hint() to the check for a hint."
        return f"{mark} · {self.exercise.number} {self.exercise.title}: {self.message}.{more}"

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.passed else "#cf222e"
        mark, _, text = repr(self).partition(" · ")
        return (
            f'<div style="border-left:4px solid {colour};padding:4px 12px"><b>{mark}</b> · '
            f'<span style="white-space:pre-wrap">{escape(text)}</span></div>'
        )


EXERCISES: dict[str, Exercise] = {}


def exercise(number: str, title: str, *hints: str, success: str = "all {} cases agree") -> Callable:
    """Register the cases of an exercise."""

    def register(cases: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
        EXERCISES[number] = Exercise(number, title, hints, cases, success)
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
    returned: list[Any] = []

    def answered(*arguments: Any) -> Any:
        returned.clear()
        returned.append(answer(*arguments))
        return returned[0]

    try:
        for case in asked.cases(answered):
            if not equal(case.got, case.expected):
                return Result(asked, False, f"{case.asked}: got {show(case.got)}, expected {show(case.expected)}")
            agreed += 1
    except NotImplementedError:
        return Result(asked, False, "nothing is written yet")
    except Refused as error:
        return Result(asked, False, str(error))
    except Exception as error:  # an answer may fail in any way
        what = f"raised {type(error).__name__}: {error}"
        if returned:  # the answer ended, and its value cannot be compared
            why = " (is a return missing?)" if returned[0] is None else ", which cannot be compared"
            what = f"returned {show(returned[0])}{why}"
        return Result(asked, False, f"after {agreed} correct cases the answer {what}")
    return Result(asked, True, asked.success.format(agreed))


def at_most(calls: int, function: Callable[..., Any], why: str) -> Callable[..., Any]:
    """Return the function; after ``calls`` calls it raises ``Refused``, which ends an answer that makes no progress."""
    left = iter(range(calls))

    def counted(*arguments: Any) -> Any:
        if next(left, None) is None:
            raise Refused(why)
        return function(*arguments)

    return counted


def equal(got: Any, expected: Any) -> bool:
    """Return whether two values agree, element by element in lists and tuples; numbers to a relative 1e-9."""
    if isinstance(expected, (list, tuple)):
        try:
            items = list(got)
        except TypeError:
            return False
        return len(items) == len(expected) and all(equal(a, b) for a, b in zip(items, expected, strict=True))
    if got is None or expected is None:
        return got is expected
    try:
        return bool(got == expected) or bool(abs(got - expected) <= 1e-9 * max(1.0, abs(expected)))
    except (TypeError, ValueError):
        return False


def show(value: Any) -> str:
    """Return a short text of a value."""
    if isinstance(value, (list, tuple)):
        left, right = "[]" if isinstance(value, list) else "()"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return left + ", ".join(map(show, value)) + comma + right
    text = str(value) if isinstance(value, Number) else repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
