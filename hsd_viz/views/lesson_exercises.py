"""What a reader answers on the page of a lesson: predictions, exercises and questions, checked
without a kernel.

An exercise is an answer to choose, the words of a line of code, and values to work out; a field
accepts what its pattern matches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from hsd_viz.exercises import Exercise
from hsd_viz.exercises.check import ExerciseCase
from hsd_viz.exercises.completion import Completion, completion_of
from hsd_viz.exercises.editions import solutions
from hsd_viz.exercises.prediction import PredictedCurve, Prediction
from hsd_viz.results.page import template

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

#: How many values are asked for below a line to choose.
_FIELDS_BELOW_A_CHOICE = 2


def part(macro: str, *given: Any) -> str:
    """Return a part of a page: a macro of the template of lessons."""
    return str(getattr(template("lessons.html").module, macro)(*given)).strip()


@cache
def parser() -> MarkdownIt:
    """Return the parser of the texts of lessons."""
    from markdown_it import MarkdownIt

    # HTML is allowed, because the texts are part of the package.
    return MarkdownIt("commonmark", {"html": True}).enable("table")


def guess_card(prediction: Prediction, folded: str) -> str:
    """Return a prediction as a reader of a page makes it; ``folded`` is the HTML below its
    answers.
    """
    curve = prediction.curve
    if curve is None:
        starts = [prediction.between[0]] * len(prediction.answers)
        return part("guess", prediction, "", starts, folded)
    places = list(curve.naive)
    starts = np.interp(curve.places, places, list(curve.naive.values())).tolist()
    return part("guess", prediction, _curve_data(curve), starts, folded)


def _curve_data(curve: PredictedCurve) -> str:
    """Return what the script of a page draws of a curve, as JSON."""
    drawn = {
        "measured": list(curve.measured.items()),
        "naive": list(curve.naive.items()),
        "names": curve.names,
        "axes": curve.axes,
    }
    return json.dumps(drawn)


def question_parts(question: dict[str, Any]) -> dict[str, Any]:
    """Return a question of a quiz. A numeric question has the pattern that its field accepts."""
    answers = [answer for answer in question["answers"] if answer.get("type") != "default"]
    [right] = [answer for answer in answers if answer["correct"]]
    pattern = pattern_of(Fraction(str(right["value"]))) if "value" in right else ""
    return {"question": question["question"], "answers": answers, "pattern": pattern}


def fields_of(exercise: Exercise) -> list[tuple[str, Any]]:
    """Return some calls of an exercise with their results, for fields that check a typed value.

    Only exact results of the function have fields, not measurements or distributions. An exercise
    of a lesson has two, with different results.
    """
    cases = list(islice(exercise.cases(), 300))
    cases = cases[len(cases) // 8 :: max(1, len(cases) // 4)][:4]
    name = solutions()[exercise.number].name
    exact = all(case.description.startswith(f"{name}(") and _exact(case.expected) for case in cases)
    if not exact:
        return []
    question = exercise.question
    if not question.asked:
        return [(f"{case.description} =", case.expected) for case in cases]
    if not question.values:
        return []
    fields = []
    for case in _of_different_results(cases)[:_FIELDS_BELOW_A_CHOICE]:
        fields.append((question.values.format_map(case.arguments), case.expected))
    return fields


def _of_different_results(cases: Sequence[ExerciseCase]) -> list[ExerciseCase]:
    """Return the cases without those whose result an earlier one has."""
    different: list[ExerciseCase] = []
    for case in cases:
        if all(case.expected != earlier.expected for earlier in different):
            different.append(case)
    return different


def exercise_card(exercise: Exercise) -> str:
    """Return an exercise as a reader of a page solves it: an answer to choose, and fields that
    check a typed value without a script.
    """
    completion = choice_of(exercise)
    fields = fields_of(exercise)
    if completion:
        fields = fields[:_FIELDS_BELOW_A_CHOICE]
    cases = [(asked, pattern_of(expected)) for asked, expected in fields]
    form = _form([expected for _, expected in fields])
    answers = _answers(completion, exercise) if completion else []
    hints = [parser().renderInline(hint) for hint in exercise.hints]
    return part("tries", completion, answers, cases, form, hints)


def choice_of(exercise: Exercise) -> Completion | None:
    """Return the line to choose; values are enough for a puzzle, whose function is one line."""
    if exercise.number.startswith("P") and fields_of(exercise):
        return None
    return completion_of(exercise.number)


def _answers(completion: Completion, exercise: Exercise) -> list[dict[str, Any]]:
    """Return the lines to choose from, worded where they have words, with what is said of each: its
    reason, or else its mistake, and of the right one the last hint.
    """
    reasons = exercise.question.reasons
    answers = []
    for choice in completion.choices:
        if choice.mistake:
            feedback = f"No: {reasons.get(choice.line, f'{choice.mistake}.')}"
        else:
            feedback = f"Yes. {reasons.get(choice.line, exercise.hints[-1])}"
        answers.append(
            {
                "answer": Markup(parser().renderInline(choice.words)),
                "line": choice.line,
                "correct": not choice.mistake,
                "feedback": feedback,
            }
        )
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
