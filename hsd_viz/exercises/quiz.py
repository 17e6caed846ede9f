"""Quizzes: questions in the JSON format of jupyterquiz, shown with ipywidgets. Answers reach Python."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent / "quizzes"


class Feedback(NamedTuple):
    """The response to an answer."""

    correct: bool
    text: str


class Quiz:
    """Questions with feedback. ``answers`` maps the number of a question, from 1, to the answer given and its feedback.

    Question types of jupyterquiz: ``multiple_choice`` (one correct answer) and ``numeric``.
    """

    def __init__(self, questions: list[dict[str, Any]]) -> None:
        for question in questions:
            if question.get("type") not in ("multiple_choice", "numeric"):
                raise ValueError(f"question type {question.get('type')!r}: use multiple_choice or numeric")
        self.questions = questions
        self.answers: dict[int, tuple[Any, Feedback]] = {}
        self._form: Any = None

    def answer(self, number: int, given: Any) -> Feedback:
        """Answer a question: by the text or the number (from 1) of an option, or by a value. A later answer counts.

        Raises: ValueError: if there is no such question, option or number.
        """
        if number not in range(1, len(self.questions) + 1):
            raise ValueError(f"there are questions 1 to {len(self.questions)}, not {number!r}")
        question = self.questions[number - 1]
        found = _numeric(question, given) if question["type"] == "numeric" else _option(question, given)
        feedback = Feedback(bool(found.get("correct")), str(found.get("feedback", "")))
        self.answers[number] = (given, feedback)
        return feedback

    @property
    def correct(self) -> int:
        """The number of questions whose latest answer is correct."""
        return sum(feedback.correct for _, feedback in self.answers.values())

    def __repr__(self) -> str:
        lines = [f"{self.correct} of {len(self.questions)} correct"]
        for n, question in enumerate(self.questions, 1):
            lines.append(f"{n}. {question['question']}")
            if question["type"] != "numeric":
                lines += [f"   {k}) {a['answer']}" for k, a in enumerate(question["answers"], 1)]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if self._form is None:
            import ipywidgets as w

            self._form = w.VBox([_form(self, n) for n in range(1, len(self.questions) + 1)])
        bundle = self._form._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata


def _option(question: dict[str, Any], given: Any) -> dict[str, Any]:
    options = question["answers"]
    for k, option in enumerate(options, 1):
        if given == option["answer"] or (given == k and not isinstance(given, bool)):
            return option
    raise ValueError(f"{given!r} is not an option: answer with its text or a number from 1 to {len(options)}")


def _numeric(question: dict[str, Any], given: Any) -> dict[str, Any]:
    value = number_of(given)
    default: dict[str, Any] = {"correct": False, "feedback": "Not correct."}
    for answer in question["answers"]:
        if answer["type"] == "value" and abs(value - answer["value"]) <= 1e-9 * max(1.0, abs(value)):
            return answer
        if answer["type"] == "range" and answer["range"][0] <= value < answer["range"][1]:
            return answer
        if answer["type"] == "default":
            default = {**answer, "correct": False}
    return default


def number_of(given: Any) -> float:
    """Return a number, also of "1/2", "50 %" and "2 times". Raises: ValueError: if it is not one."""
    found = re.fullmatch(r"([^/]+?)(?:/(.+?))?\s*(%|times|x|×)?", str(given).strip())
    try:
        value = float(found[1]) / float(found[2] or 1) / (100 if found[3] == "%" else 1) if found else math.nan
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{given!r} is not a number: write one, as in 1.5, 1/2 or 50 %")
    return value


def words(html: str) -> Any:
    """Return a widget of text that may need several lines."""
    import ipywidgets as w

    return w.HTML(f'<div style="line-height:1.4">{html}</div>')


def entry_of(options: Sequence[str]) -> Any:
    """Return a widget to choose an option, or without options to enter a number."""
    import ipywidgets as w

    if options:
        return w.RadioButtons(options=list(options), value=None, layout={"width": "max-content"})
    return w.Text(placeholder="a number", continuous_update=False, layout={"width": "12em"})


def _form(quiz: Quiz, number: int) -> Any:
    """Return the widgets of one question."""
    import ipywidgets as w

    question = quiz.questions[number - 1]
    text = words(f"<b>{number}.</b> {escape(question['question'])}")
    entry = entry_of([] if question["type"] == "numeric" else [a["answer"] for a in question["answers"]])
    response = w.HTML()

    def answered(change: dict[str, Any]) -> None:
        if change["new"] in (None, ""):
            return
        try:
            feedback = quiz.answer(number, change["new"])
            response.value = f"<b>{'✓' if feedback.correct else '✗'}</b> {escape(feedback.text)}"
        except ValueError as error:
            response.value = escape(str(error))

    entry.observe(answered, "value")
    return w.VBox([text, entry, response])


def quiz(which: str | Path | list[dict[str, Any]]) -> Quiz:
    """Return the quiz of a lesson (``"3"``), of a JSON file, or of questions given as a list.

    Raises: ValueError: if there is no such quiz or it is invalid.
    """
    if isinstance(which, list):
        return Quiz(which)
    path = Path(which) if str(which).endswith(".json") else FOLDER / f"{which}.json"
    try:
        return Quiz(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.json")))
        raise ValueError(f"there is no quiz '{which}': use one of {known}, or the path of a JSON file") from None
    except (json.JSONDecodeError, AttributeError) as error:
        raise ValueError(f"{path.name} is not a quiz in the format of jupyterquiz: {error}") from None
