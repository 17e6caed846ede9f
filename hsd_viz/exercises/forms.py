"""Questions in a notebook: quizzes, drawn by jupyterquiz, and guesses that are locked before a result is shown."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.words import did_you_mean

FOLDER = Path(__file__).resolve().parent / "quizzes"


def number_of(given: Any) -> float:
    """Return a number, also of "1/2", "50 %" and "2 times". Raises: ValueError: if it is not one."""
    parts = re.fullmatch(r"([^/]+?)(?:/(.+?))?\s*(%|times|x|×)?", str(given).strip())
    try:
        value = float(parts[1]) / float(parts[2] or 1) / (100 if parts[3] == "%" else 1) if parts else math.nan
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{given!r} is not a number: write one, as in 1.5, 1/2 or 50 %")
    return value


class Feedback(NamedTuple):
    """The response to an answer."""

    correct: bool
    text: str


class Quiz:
    """Questions in the format of jupyterquiz, which draws them in a notebook; :meth:`answer` answers them from code.
    ``answers`` maps the number of a question, from 1, to the answer given so and its feedback. Question types:
    ``multiple_choice`` (one correct answer) and ``numeric``.
    """

    def __init__(self, questions: list[dict[str, Any]]) -> None:
        for question in questions:
            if question.get("type") not in ("multiple_choice", "numeric"):
                raise ValueError(f"question type {question.get('type')!r}: use multiple_choice or numeric")
        self.questions = questions
        self.answers: dict[int, tuple[Any, Feedback]] = {}

    def answer(self, number: int, given: Any) -> Feedback:
        """Answer a question: by the text or the number (from 1) of an option, or by a value. A later answer counts.
        Raises: ValueError: if there is no such question, option or number.
        """
        if number not in range(1, len(self.questions) + 1):
            raise ValueError(f"there are questions 1 to {len(self.questions)}, not {number!r}")
        question = self.questions[int(number) - 1]
        answer = _numeric(question, given) if question["type"] == "numeric" else _option(question, given)
        feedback = Feedback(bool(answer.get("correct")), str(answer.get("feedback", "")))
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

    def _ipython_display_(self) -> None:
        from IPython.core.getipython import get_ipython
        from IPython.display import HTML, Javascript, display
        from IPython.utils.capture import capture_output

        if not hasattr(get_ipython(), "kernel") or find_spec("jupyterquiz") is None:  # it is part of hsd-viz[app]
            print(repr(self))
            return
        from jupyterquiz import display_quiz

        with capture_output() as drawn:
            display_quiz(self.questions, shuffle_answers=False, max_width=900)
        page, script = (output.data for output in drawn.outputs)
        display(HTML(page["text/html"]))
        # Without MathJax, which jupyterquiz would load from a network: there are no formulas in TeX.
        display(Javascript(f"(() => {{ let MathJax;\n{script['application/javascript']}\n}})()"))


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


def quiz(which: str | Path | list[dict[str, Any]]) -> Quiz:
    """Return the quiz of a lesson (``"3"``), of a JSON file, or of questions given as a list. Raises: ValueError: if
    the quiz is missing or invalid.
    """
    if isinstance(which, list):
        return Quiz(which)
    path = Path(which) if str(which).endswith(".json") else FOLDER / f"{which}.json"
    try:
        return Quiz(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.json")))
        raise ValueError(f"unknown quiz '{which}': use one of {known}, or the path of a JSON file") from None
    except (json.JSONDecodeError, AttributeError) as error:
        raise ValueError(f"{path.name} is not a quiz in the format of jupyterquiz: {error}") from None


class Guess:
    """A question with a locked guess. In a notebook it is a form; :meth:`lock` does the same from code. ``guess`` is
    ``None`` until it is locked, ``revealed`` the result until then not computed.
    """

    def __init__(self, question: str, reveal: Callable[[], Any], options: Sequence[str] = ()) -> None:
        self.question, self.options = question, tuple(map(str, options))
        self.guess: Any = None
        self.revealed: Any = None
        self._reveal = reveal
        self._form: Any = None

    def lock(self, guess: Any) -> Guess:
        """Lock the guess and compute the result. Raises: ValueError: if a guess is locked already, or is not one of the
        options or a number.
        """
        if self.guess is not None:
            raise ValueError(f"the guess {self.guess!r} is locked: run the cell again for another one")
        if self.options and str(guess) not in self.options:
            hint = did_you_mean(str(guess), self.options)
            raise ValueError(f"{guess!r} is not an option (use {', '.join(self.options)}){hint}")
        guess = str(guess) if self.options else number_of(guess)
        # The guess counts only once its result is known: a failing reveal can be repeated.
        self.revealed = self._reveal()
        self.guess = guess
        return self

    def __repr__(self) -> str:
        if self.guess is None:
            entry = f"one of {', '.join(map(repr, self.options))}" if self.options else "a number"
            return f"{self.question} Append .lock(…) to the cell, with {entry}, and run it again."
        return f"{self.question}\nyour guess: {self.guess}\nthe result: {self.revealed}"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._form = self._form or self._widgets()
        bundle = self._form._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata

    def _widgets(self) -> Any:
        """Return an entry, a button, and a place for the result beside the guess."""
        import ipywidgets as w

        question, problem, shown = w.HTML(f"<b>{escape(self.question)}</b>"), w.HTML(), w.Output()
        button = w.Button(description="Lock the guess")
        if self.options:
            entry = w.RadioButtons(options=list(self.options), value=None, layout={"width": "max-content"})
        else:
            entry = w.Text(placeholder="a number", continuous_update=False, layout={"width": "12em"})

        def lock(_: Any) -> None:
            try:
                if self.guess is None:
                    self.lock(entry.value)
            except Exception as error:  # callbacks of widgets lose exceptions
                problem.value = escape(str(error))
                return
            entry.disabled = button.disabled = True
            problem.value = escape(f"Your guess: {self.guess}. The result:")
            _show(shown, self.revealed)

        button.on_click(lock)
        if self.guess is not None:
            lock(None)
        return w.VBox([question, entry, button, problem, shown])


def _show(output: Any, value: Any) -> None:
    """Show a value in an ``Output`` widget; a plotly figure through the extension that the views use."""
    from IPython.display import display

    if hasattr(value, "to_plotly_json"):
        with output:
            display({"application/vnd.plotly.v1+json": value.to_plotly_json(), "text/plain": "a figure"}, raw=True)
    elif isinstance(value, (str, int, float)):
        output.append_stdout(f"{value}\n")
    else:
        output.append_display_data(value)


def predict_first(question: str, *, reveal: Callable[[], Any], options: Sequence[str] = (), guess: Any = None) -> Guess:
    """Ask for a guess before the result is shown.

    ``reveal()`` returns the result; it is called when the guess is locked. ``options`` are the possible answers, none
    for a number. ``guess`` locks a guess at once, without the form.

    >>> predict_first("How many tokens does plain decoding emit per forward pass?", reveal=lambda: 1, guess=1)
    How many tokens does plain decoding emit per forward pass?
    your guess: 1.0
    the result: 1
    """
    asked = Guess(question, reveal, options)
    return asked if guess is None else asked.lock(guess)
