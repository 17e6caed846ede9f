"""The registry of exercises, and :func:`check` with its result: passed, or the first counter-example, with the name of
the mistake where it is a known one (:mod:`hsd_viz.exercises.mistakes`). Titles, hints and names are in ``texts.json``.
"""

import ctypes
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from inspect import signature
from itertools import islice
from numbers import Number
from pathlib import Path
from threading import Event, Thread, get_ident
from time import monotonic
from typing import Any, NamedTuple

from hsd_viz.audit.faults import FAULTS
from hsd_viz.words import did_you_mean

TEXTS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
#: Mistakes by key, the faults that the audit recognises among them.
NAMES: dict[str, str] = TEXTS["mistakes"] | {f"fault {number}": text for number, text in FAULTS.items()}
#: Cases in which an answer must equal a known mistake to be called by its name.
_ENOUGH_CASES = 300


class Refused(ValueError):
    """An answer that cannot be compared; the message says why."""


class OutOfTime(BaseException):
    """A call of an answer took too long. No ``except Exception`` of the answer catches it."""


class Case(NamedTuple):
    """One comparison: what was asked, as the learner reads it, the expected value, and ``got()``, the answer's.
    ``say`` writes both values.
    """

    asked: str
    got: Callable[[], Any]
    expected: Any
    say: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Exercise:
    """An exercise: ``cases(answer)`` yields its comparisons, ``hints`` lead to the solution without stating it.
    ``success`` is the message of a right answer, for the number of cases; ``seconds`` limit each call of the answer.
    """

    number: str
    title: str
    hints: tuple[str, ...]
    cases: Callable[[Any], Iterator[Case]]
    success: str = "all {} cases agree"
    seconds: float = 5


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
        style = f"border-left:4px solid {colour};padding:4px 12px;white-space:pre-wrap"
        return f'<div style="{style}"><b>{mark}</b> · {escape(text)}</div>'


EXERCISES: dict[str, Exercise] = {}
#: Wrong answers by exercise and by the name of the mistake.
MISTAKES: dict[str, dict[str, Callable[..., Any]]] = {}


def exercise(number: str, **options: Any) -> Callable:
    """Register the function that yields the cases of an exercise."""

    def register(cases: Callable[[Any], Iterator[Case]]) -> Callable[[Any], Iterator[Case]]:
        texts = TEXTS["exercises"][number]
        EXERCISES[number] = Exercise(number, texts["title"], tuple(texts["hints"]), cases, **options)
        return cases

    return register


def formula(number: str, name: str, arguments: Iterable[Sequence[Any]], expected: Callable[..., Any]) -> None:
    """Register an exercise by a function that returns the expected value for each of the ``arguments``. ``name`` is
    that of the function in messages.
    """
    names, all_given = list(signature(expected).parameters), list(arguments)

    @exercise(number)
    def cases(answer: Any) -> Iterator[Case]:
        for given in all_given:
            listed = ", ".join(f"{key}={show(value)}" for key, value in zip(names, given, strict=True))
            yield Case(f"{name}({listed})", lambda given=given: answer(*deepcopy(given)), expected(*given))


def check(number: str, answer: Any) -> Result:
    """Check an answer to an exercise of the course, offline and without timing, up to the first case that differs.
    Raises: ValueError: if there is no such exercise.
    """
    if number not in EXERCISES:
        hint = did_you_mean(str(number), EXERCISES)
        raise ValueError(f"there is no exercise {number!r} (use {', '.join(EXERCISES)}){hint}")
    asked = EXERCISES[number]
    with _limited(asked.seconds) as starts:

        def answered(*arguments: Any) -> Any:
            starts()
            return answer(*arguments)

        agreed, wrong, ended = _first_wrong(asked, answered)
        if wrong is None:
            return Result(asked, True, asked.success.format(agreed))
        mistake = _known_mistake(asked, answered) if ended else None
    return Result(asked, False, f"{wrong}. The mistake: {mistake}" if mistake else wrong)


def _first_wrong(asked: Exercise, answer: Callable[..., Any]) -> tuple[int, str | None, bool]:
    """Return the number of cases that agree before the first one that differs, that one as a message, and whether the
    answer ended there.
    """
    returned: list[Any] = []

    def recorded(*arguments: Any) -> Any:
        returned[:] = [answer(*arguments)]
        return returned[0]

    agreed, name = 0, asked.title
    try:
        for agreed, case in enumerate(asked.cases(recorded)):
            returned.clear()
            name, say = case.asked, case.say or show
            if not equal(got := case.got(), case.expected):
                return agreed, f"{name}: got {say(got)}, expected {say(case.expected)}", True
    except NotImplementedError:
        return agreed, "nothing is written yet", False
    except OutOfTime:
        return agreed, f"{name}: no value after {asked.seconds:g} seconds: a loop may never end", False
    except Refused as error:
        return agreed, str(error), True
    except (Exception, SystemExit) as error:  # an answer may fail in any way
        what = f"raised {type(error).__name__}: {error}"
        if returned:  # the answer ended, and its value cannot be compared
            why = " (is a return missing?)" if returned[0] is None else ", which cannot be compared"
            what = f"returned {show(returned[0])}{why}"
        return agreed, f"{name}: the answer {what}", True
    return agreed + 1, None, True


def _known_mistake(asked: Exercise, answer: Callable[..., Any]) -> str | None:
    """Return the name of the known mistake that an answer equals in all cases."""
    for name, wrong in MISTAKES.get(asked.number, {}).items():
        pairs = islice(zip(asked.cases(answer), asked.cases(wrong), strict=True), _ENOUGH_CASES)
        try:
            if all(equal(_value(mine), _value(other)) for mine, other in pairs):
                return name
        except OutOfTime:
            return None
        except Exception:  # an answer may fail in any way
            continue
    return None


def _value(case: Case) -> Any:
    """Return the answer's value, or the type of what it raised."""
    try:
        return case.got()
    except (Exception, SystemExit) as error:  # an answer may fail in any way
        return type(error)


@contextmanager
def _limited(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise ``OutOfTime`` in this thread once ``seconds`` have passed since the last call of the yielded function."""
    thread, done, started = ctypes.c_ulong(get_ident()), Event(), [monotonic()]

    def watch() -> None:
        while not done.wait(0.1):
            if monotonic() - started[0] > seconds:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))
                started[0] += 1  # again in a second: a bare except may catch it

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield lambda: started.__setitem__(0, monotonic())
    finally:
        done.set()
        watcher.join()


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
    try:
        if isinstance(expected, (list, tuple)):
            return len(items := list(got)) == len(expected) and all(map(equal, items, expected))
        if got is None or expected is None:
            return got is expected
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
