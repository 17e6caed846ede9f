"""Check answers to the exercises of the course.

:func:`check` passes an answer that equals the solution of the master on all inputs of
:mod:`hsd_viz.exercises.cases`. Otherwise it reports the first input on which they differ, and the
name of a known mistake: ``exercises.toml`` has mistakes as edits of the solution, and an answer
made one if it equals the edited solution in all cases. Titles and hints are beside them.
"""

import ctypes
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from numbers import Number
from pathlib import Path
from threading import Event, Thread, get_ident
from types import MappingProxyType
from typing import Any, NamedTuple

from hsd_viz.errors import UserError
from hsd_viz.exercises.editions import Program, solutions
from hsd_viz.exercises.questions import QUESTIONS, PageQuestion
from hsd_viz.measure.audit.faults import FAULTS

#: Titles, hints and mistakes by exercise; the edits of the decoder of the bug hunt.
TEXTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8")
)
Submission = Callable[..., Any]
#: The limit of a check.
SECONDS = 10.0


#: The entries of a longer dictionary that a message shows.
_SHOWN_ENTRIES = 3


class OutOfTime(BaseException):
    """A check took too long. No ``except Exception`` of the answer catches it."""


def show(value: Any) -> str:
    """Return a short text of a value."""
    if isinstance(value, list | tuple):
        listed = ", ".join(map(show, value))
        return f"[{listed}]" if isinstance(value, list) else f"({listed}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        keys = list(value)[:_SHOWN_ENTRIES]
        listed = ", ".join(f"{show(key)}: {show(value[key])}" for key in keys)
        if len(value) > _SHOWN_ENTRIES:
            return f"{{{listed}, …}} ({len(value)} entries)"
        return f"{{{listed}}}"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value) if isinstance(value, Number) else repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


class ExerciseCase(NamedTuple):
    """One comparison of an answer with the solution.

    Attributes:
        description: the call that is compared, as the learner reads it.
        got: returns the value to compare, of an answer.
        words: writes a value; it may fail on one of another form.
        expected: the value that the solution has.
        arguments: the arguments of the call as texts, by name; empty for another comparison.
    """

    description: str
    got: Callable[..., Any]
    words: Callable[..., str] = show
    expected: Any = None
    arguments: Mapping[str, str] = MappingProxyType({})

    def say(self, value: Any) -> str:
        """Return a value as the learner reads it."""
        try:
            return self.words(value)
        except (TypeError, ValueError, LookupError):
            return show(value)


@dataclass(frozen=True)
class Exercise:
    """An exercise.

    Attributes:
        number: its number, as in 3.2.
        title: its title.
        hints: they lead to the solution without stating it.
        inputs: yields cases, or arguments.
        question: what a page asks.
    """

    number: str
    title: str
    hints: list[str]
    inputs: Callable[[], Iterable[ExerciseCase | Sequence[Any]]]
    question: PageQuestion = field(default_factory=PageQuestion)

    def cases(self) -> tuple[ExerciseCase, ...]:
        """Return the comparisons, with their expected values; they are computed once."""
        return _cases(self.number)


@cache
def _cases(number: str) -> tuple[ExerciseCase, ...]:
    right = solution(number)
    cases = []
    for item in EXERCISES[number].inputs():
        case = item if isinstance(item, ExerciseCase) else _call_of(right, item)
        if case.expected is None:
            case = case._replace(expected=case.got(right))
        cases.append(case)
    return tuple(cases)


def _call_of(right: Submission, arguments: Sequence[Any]) -> ExerciseCase:
    """Return the case that calls an answer with these arguments; ``right`` is the solution."""
    names = signature(right).parameters
    shown = dict(zip(names, map(show, arguments), strict=True))
    listed = ", ".join(f"{name}={value}" for name, value in shown.items())
    return ExerciseCase(f"{right.__name__}({listed})", call(*arguments), arguments=shown)


@dataclass(frozen=True)
class CheckResult:
    """The verdict on an answer; its truth value is whether the answer passed.

    Attributes:
        exercise: the exercise.
        passed: whether all cases agree.
        message: what was found.
    """

    exercise: Exercise
    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def hint(self, n: int = 1) -> str:
        """Return hint ``n``, from 1.

        Raises:
            UserError: if there are fewer hints.
        """
        hints = dict(enumerate(self.exercise.hints, 1))
        if n not in hints:
            raise UserError(
                f"exercise {self.exercise.number} has hints 1 to {len(hints)}, not {n!r}"
            )
        return hints[n]

    def __repr__(self) -> str:
        heading = f"{self.exercise.number} {self.exercise.title}: {self.message}."
        if self:
            return f"✓ passed · {heading}"
        return f"✗ not yet · {heading} Append .hint() to the check for a hint."


EXERCISES: dict[str, Exercise] = {}


def exercise(number: str) -> Callable:
    """Register the function that yields the cases of an exercise, or the arguments of a call in
    each.
    """
    title = TEXTS[number]["title"]
    hints = TEXTS[number]["hints"]
    question = QUESTIONS.get(number, PageQuestion())

    def register(inputs: Callable[[], Iterable[ExerciseCase | Sequence[Any]]]) -> Callable:
        EXERCISES.setdefault(number, Exercise(number, title, hints, inputs, question))
        return EXERCISES[number].inputs

    return register


def call(*arguments: Any) -> Callable[[Submission], Any]:
    """Return a function that calls an answer with copies of these arguments."""
    return lambda answer: answer(*deepcopy(arguments))


@cache
def solution(number: str) -> Submission:
    """Return the solution of an exercise."""
    return _defined(solutions()[number], "", "")


@cache
def mistakes(number: str) -> dict[str, Submission]:
    """Return the known wrong answers to an exercise by the name of the mistake."""
    return edited(solutions()[number], TEXTS[number]["mistakes"])


def edited(program: Program, edits: Iterable[Sequence[str]]) -> dict[str, Submission]:
    """Return the functions of a program with one edit each, by the name of the edit; ``fault N``
    is that of a fault.
    """
    return {name_of(name): _defined(program, old, new) for old, new, name in edits}


def name_of(name: str) -> str:
    """Return the name of a mistake; ``fault N`` is that of a fault."""
    if name.startswith("fault "):
        return FAULTS[int(name.removeprefix("fault "))]
    return name


def _defined(program: Program, old: str, new: str) -> Submission:
    names = dict(program.names)
    exec(f"{program.before}\n{program.source.replace(old, new)}", names)
    return names[program.name]


def check(number: str, answer: Submission) -> CheckResult:
    """Check an answer to an exercise of the course, offline and without timing, up to the first
    case that differs.

    Raises:
        UserError: if the exercise is unknown.
    """
    if number not in EXERCISES:
        raise UserError(_unknown(number))
    exercise = EXERCISES[number]
    cases = exercise.cases()
    try:
        with _limited(SECONDS):
            return _result(exercise, cases, answer)
    except OutOfTime:  # the time was over just as the answer ended
        return CheckResult(exercise, False, _late())


def _result(exercise: Exercise, cases: Sequence[ExerciseCase], answer: Submission) -> CheckResult:
    """Return the result of an answer up to the first case that differs."""
    agreed = 0
    try:
        for case in cases:
            if not equal(got := case.got(answer), case.expected):
                wrong = f"{case.description}: {_difference(case, got)}"
                break
            agreed += 1
        else:
            return CheckResult(exercise, True, f"all {agreed} cases agree")
    except NotImplementedError:
        return CheckResult(exercise, False, "nothing is written yet")
    except OutOfTime:
        return CheckResult(exercise, False, f"{case.description}: {_late()}")
    except (Exception, SystemExit) as error:  # an answer may fail in any way
        wrong = f"{case.description}: the answer raised {type(error).__name__}: {error}"
    return CheckResult(exercise, False, wrong + _known_mistake(exercise, answer))


def _late() -> str:
    return f"no value after {SECONDS:g} seconds: a loop may never end"


def _unknown(number: str) -> str:
    """Return what is said of an exercise that does not exist: the numbers of its lesson, if it
    has any.
    """
    lesson = str(number).partition(".")[0]
    of_lesson = [key for key in EXERCISES if key.partition(".")[0] == lesson]
    lessons = [key for key in EXERCISES if "." in key]
    puzzles = [key for key in EXERCISES if key.startswith("P")]
    if of_lesson:
        return f"there is no exercise {number!r}: lesson {lesson} has {', '.join(of_lesson)}"
    return (
        f"there is no exercise {number!r}: the lessons have {lessons[0]} to {lessons[-1]}, "
        f"the puzzles {puzzles[0]} to {puzzles[-1]}"
    )


def _difference(case: ExerciseCase, got: Any) -> str:
    """Return an answer's value beside the expected one, with all digits where they look alike."""
    actual = case.say(got)
    expected = case.say(case.expected)
    if actual == expected:
        actual = repr(got)
        expected = repr(case.expected)
    missing = " (is a return missing?)" if got is None else ""
    return f"got {actual}{missing}, expected {expected}"


def _known_mistake(exercise: Exercise, answer: Submission) -> str:
    """Return the name of the known mistake that an answer equals in all cases, "" if there is
    none.
    """
    cases = exercise.cases()
    value_of_case = cache(lambda k: _value(cases[k], answer))
    try:
        for name in mistakes(exercise.number):
            mistaken = partial(_mistaken_value, exercise.number, name)
            if all(equal(value_of_case(k), mistaken(k)) for k in range(len(cases))):
                return f". The mistake: {name}"
    except OutOfTime:
        pass
    return ""


@cache
def _mistaken_value(number: str, name: str, k: int) -> Any:
    """Return the value that a known mistake has in a case, which is computed once."""
    return _value(EXERCISES[number].cases()[k], mistakes(number)[name])


def _value(case: ExerciseCase, answer: Submission) -> Any:
    """Return the answer's value, or the type of what it raised."""
    try:
        return case.got(answer)
    except (Exception, SystemExit) as error:  # an answer may fail in any way
        return type(error)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` in this thread after ``seconds``, and again each second: a bare except
    may catch it.
    """
    thread = ctypes.c_ulong(get_ident())
    is_over = Event()

    def watch(wait: float = seconds) -> None:
        while not is_over.wait(wait):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))
            wait = 1.0

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def equal(got: Any, expected: Any) -> bool:
    """Return whether two values agree, element by element in lists and tuples; numbers to a
    relative 1e-9.
    """
    try:
        if isinstance(expected, (list, tuple)):
            return len(items := list(got)) == len(expected) and all(map(equal, items, expected))
        return bool(got == expected) or bool(abs(got - expected) <= 1e-9 * max(1.0, abs(expected)))
    except (TypeError, ValueError):
        return False
