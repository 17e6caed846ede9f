"""The registry of exercises, and :func:`check` with its result: passed, or the first counter-example, with the name of
the mistake where it is a known one. An answer must equal the solution of the master on the inputs of
:mod:`hsd_viz.exercises.cases`. Titles, hints and mistakes are in ``exercises.toml``: a mistake is an edit of the
solution, and an answer that equals the edited solution in all cases made it.
"""

import ctypes
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from html import escape
from inspect import signature
from itertools import islice
from numbers import Number
from pathlib import Path
from threading import Event, Thread, get_ident
from time import monotonic
from typing import Any, NamedTuple

from hsd_viz.audit.faults import FAULTS
from hsd_viz.exercises.editions import Program, solutions
from hsd_viz.words import did_you_mean

#: Titles, hints and mistakes by exercise; the edits of the decoder of the bug hunt.
TEXTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8"))
#: Cases in which an answer must equal a known mistake to be called by its name.
_ENOUGH_CASES = 300
Answer = Callable[..., Any]


class Refused(ValueError):
    """An answer that cannot be compared; the message says why."""


class OutOfTime(BaseException):
    """A call of an answer took too long. No ``except Exception`` of the answer catches it."""


def show(value: Any) -> str:
    """Return a short text of a value."""
    if isinstance(value, (list, tuple)):
        left, right = "[]" if isinstance(value, list) else "()"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return left + ", ".join(map(show, value)) + comma + right
    text = str(value) if isinstance(value, Number) else repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


class Case(NamedTuple):
    """One comparison: what was asked, as the learner reads it, and ``got(answer)``, the value to compare. ``say``
    writes it. ``expected`` is by default the value that the solution has.
    """

    asked: str
    got: Callable[..., Any]
    say: Callable[..., str] = show
    expected: Any = None


@dataclass(frozen=True)
class Exercise:
    """An exercise; ``hints`` lead to the solution without stating it. ``success`` is the message of a right answer, for
    the number of cases; ``seconds`` limit each call of the answer.
    """

    number: str
    title: str
    hints: list[str]
    inputs: Callable[[], Iterable[Case]]
    success: str = "all {} cases agree"
    seconds: float = 5

    def cases(self) -> Iterator[Case]:
        """Yield the comparisons, with their expected values."""
        for case in self.inputs():
            yield case if case.expected is not None else case._replace(expected=case.got(solution(self.number)))


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
        mark, more = ("✓ passed", "") if self else ("✗ not yet", " Append .hint() to the check for a hint.")
        return f"{mark} · {self.exercise.number} {self.exercise.title}: {self.message}.{more}"

    def _repr_html_(self) -> str:
        mark, _, text = repr(self).partition(" · ")
        style = f"border-left:4px solid {'#1a7f37' if self else '#cf222e'};padding:4px 12px;white-space:pre-wrap"
        return f'<div style="{style}"><b>{mark}</b> · {escape(text)}</div>'


EXERCISES: dict[str, Exercise] = {}


def exercise(number: str, **options: Any) -> Callable:
    """Register the function that yields the cases of an exercise."""
    title, hints = TEXTS[number]["title"], TEXTS[number]["hints"]
    return lambda inputs: EXERCISES.setdefault(number, Exercise(number, title, hints, inputs, **options)).inputs


def inputs(number: str, arguments: Iterable[Sequence[Any]]) -> None:
    """Register an exercise by the arguments of its cases."""
    all_given = list(arguments)

    @exercise(number)
    def cases() -> Iterator[Case]:
        expected = solution(number)
        for given in all_given:
            listed = ", ".join(f"{k}={show(v)}" for k, v in zip(signature(expected).parameters, given, strict=True))
            yield Case(f"{expected.__name__}({listed})", call(*given))


def call(*given: Any) -> Callable[[Answer], Any]:
    """Return a function that calls an answer with copies of these arguments."""
    return lambda answer: answer(*deepcopy(given))


@cache
def solution(number: str) -> Answer:
    """Return the solution of an exercise."""
    return _defined(solutions()[number], "", "")


def mistakes(number: str) -> dict[str, Answer]:
    """Return the known wrong answers to an exercise by the name of the mistake."""
    return edited(solutions()[number], TEXTS[number]["mistakes"])


def edited(program: Program, edits: Iterable[Sequence[str]]) -> dict[str, Answer]:
    """Return the functions of a program with one edit each, by the name of the edit; ``fault N`` is that of a fault."""
    named = {FAULTS[int(name[6:])] if name.startswith("fault ") else name: edit for *edit, name in edits}
    return {name: _defined(program, *edit) for name, edit in named.items()}


def _defined(program: Program, old: str, new: str) -> Answer:
    names = dict(program.names)
    exec(f"{program.before}\n{program.source.replace(old, new)}", names)
    return names[program.name]


def check(number: str, answer: Answer) -> Result:
    """Check an answer to an exercise of the course, offline and without timing, up to the first case that differs.
    Raises: ValueError: if there is no such exercise.
    """
    if number not in EXERCISES:
        hint = did_you_mean(str(number), EXERCISES)
        raise ValueError(f"there is no exercise {number!r} (use {', '.join(EXERCISES)}){hint}")
    asked = EXERCISES[number]
    with _limited(asked.seconds) as starts:
        returned: list[Any] = []

        def recorded(*given: Any) -> Any:
            starts()
            returned[:] = [answer(*given)]
            return returned[0]

        agreed, wrong, ended = 0, "", True
        try:
            for case in asked.cases():
                returned.clear()
                if not equal(got := case.got(recorded), case.expected):
                    wrong = f"{case.asked}: got {case.say(got)}, expected {case.say(case.expected)}"
                    break
                agreed += 1
        except NotImplementedError:
            wrong, ended = "nothing is written yet", False
        except OutOfTime:
            wrong, ended = f"{case.asked}: no value after {asked.seconds:g} seconds: a loop may never end", False
        except Refused as error:
            wrong = str(error)
        except (Exception, SystemExit) as error:  # an answer may fail in any way
            wrong = f"{case.asked}: the answer {_failure(error, returned)}"
        mistake = _known_mistake(asked, recorded) if wrong and ended else None
    message = (f"{wrong}. The mistake: {mistake}" if mistake else wrong) or asked.success.format(agreed)
    return Result(asked, not wrong, message)


def _failure(error: BaseException, returned: list[Any]) -> str:
    """Return what went wrong: in the answer, or in the comparison of what it returned."""
    if not returned:
        return f"raised {type(error).__name__}: {error}"
    why = " (is a return missing?)" if returned[0] is None else ", which cannot be compared"
    return f"returned {show(returned[0])}{why}"


def _known_mistake(asked: Exercise, answer: Answer) -> str | None:
    """Return the name of the known mistake that an answer equals in all cases."""
    cases = list(islice(asked.inputs(), _ENOUGH_CASES))
    mine = cache(lambda k: _value(cases[k], answer))
    try:
        for name, wrong in mistakes(asked.number).items():
            if all(equal(mine(k), _value(case, wrong)) for k, case in enumerate(cases)):
                return name
    except OutOfTime:
        pass
    return None


def _value(case: Case, answer: Answer) -> Any:
    """Return the answer's value, or the type of what it raised."""
    try:
        return case.got(answer)
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
