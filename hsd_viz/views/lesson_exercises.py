"""What a reader answers on the page of a lesson: exercises and questions, checked without a kernel.

An exercise is a line to choose and values to work out; a field accepts what its pattern matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from hsd_viz.exercises import Exercise
from hsd_viz.exercises.completion import Completion, completion_of
from hsd_viz.exercises.editions import solutions
from hsd_viz.results.page import template

#: How many values are asked for below a line to choose.
_FIELDS_BELOW_A_CHOICE = 2


def part(macro: str, *given: Any) -> str:
    """Return a part of a page: a macro of the template of lessons."""
    return str(getattr(template("lessons.html").module, macro)(*given)).strip()


def question_parts(question: dict[str, Any]) -> dict[str, Any]:
    """Return a question of a quiz. A numeric question has the pattern that its field accepts."""
    answers = [answer for answer in question["answers"] if answer.get("type") != "default"]
    [right] = [answer for answer in answers if answer["correct"]]
    pattern = pattern_of(Fraction(str(right["value"]))) if "value" in right else ""
    return {"question": question["question"], "answers": answers, "pattern": pattern}


def fields_of(exercise: Exercise) -> list[tuple[str, Any]]:
    """Return some calls of an exercise with their results, for fields that check a typed value.

    Only exact results of the function have fields, not measurements or distributions.
    """
    cases = list(islice(exercise.cases(), 300))
    cases = cases[len(cases) // 8 :: max(1, len(cases) // 4)][:4]
    name = solutions()[exercise.number].name
    exact = all(case.description.startswith(f"{name}(") and _exact(case.expected) for case in cases)
    return [(case.description, case.expected) for case in cases] if exact else []


def exercise_card(exercise: Exercise) -> str:
    """Return an exercise as a reader of a page solves it: a line to choose, and fields that check a
    typed value without a script.
    """
    completion = choice_of(exercise)
    fields = fields_of(exercise)
    if completion:
        fields = fields[:_FIELDS_BELOW_A_CHOICE]
    cases = [(call, pattern_of(expected)) for call, expected in fields]
    form = _form([expected for _, expected in fields])
    answers = _answers(completion, exercise) if completion else []
    return part("tries", completion, answers, cases, form, exercise.hints)


def choice_of(exercise: Exercise) -> Completion | None:
    """Return the line to choose; values are enough for a puzzle, whose function is one line."""
    if exercise.number.startswith("P") and fields_of(exercise):
        return None
    return completion_of(exercise.number)


def _answers(completion: Completion, exercise: Exercise) -> list[dict[str, Any]]:
    """Return the lines to choose from, with what is said of each: of the right one the last hint,
    which is its reason.
    """
    answers = []
    for choice in completion.choices:
        feedback = f"No: {choice.mistake}." if choice.mistake else f"Yes. {exercise.hints[-1]}"
        correct = not choice.mistake
        answers.append({"answer": choice.line, "correct": correct, "feedback": feedback})
    return answers


def _form(values: Sequence[Any]) -> str:
    """Return the format in which such values are written."""
    first = values[0] if values else 0
    if isinstance(first, bool):
        return "yes or no"
    if isinstance(first, list):
        return "1/2, 0" if any(isinstance(item, Fraction) for item in first) else "0, 2"
    return "1/2" if any(isinstance(value, Fraction) for value in values) else "a number"


def _exact(value: Any) -> bool:
    return isinstance(value, (int, Fraction)) or (
        isinstance(value, list) and all(map(_exact, value))
    )


def pattern_of(value: Any) -> str:
    """Return a regular expression that matches the ways to write a value."""
    if isinstance(value, bool):
        return f"{value}|{str(value).lower()}|{'yes' if value else 'no'}"
    if isinstance(value, list):
        return rf"\[?{' *, *'.join(f'({pattern_of(item)})' for item in value)}\]?"
    decimal = f"{float(value):g}"
    ways = dict.fromkeys([str(value), *([decimal] if Fraction(decimal) == value else [])])
    return "|".join(way.replace(".", "\\.") for way in ways)
