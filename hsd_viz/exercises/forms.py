"""Questions in a notebook: quizzes, drawn by jupyterquiz, and guesses that are locked before a result is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hsd_viz.words import did_you_mean

FOLDER = Path(__file__).resolve().parent / "quizzes"


class Quiz:
    """Questions in the format of jupyterquiz, which draws them in a notebook and answers there. Elsewhere, its text."""

    def __init__(self, questions: list[dict[str, Any]]) -> None:
        self.questions = questions

    def __repr__(self) -> str:
        lines = []
        for n, question in enumerate(self.questions, 1):
            options = question["answers"] if question["type"] != "numeric" else []
            lines += [f"{n}. {question['question']}", *(f"   {k}) {a['answer']}" for k, a in enumerate(options, 1))]
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


def quiz(which: str | Path) -> Quiz:
    """Return the quiz of a lesson (``"3"``) or of a JSON file. Raises: ValueError: if it is missing or invalid."""
    path = Path(which) if str(which).endswith(".json") else FOLDER / f"{which}.json"
    try:
        return Quiz(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.json")))
        raise ValueError(f"unknown quiz '{which}': use one of {known}, or the path of a JSON file") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path.name} is not a quiz in the format of jupyterquiz: {error}") from None


def number_of(given: Any) -> float:
    """Return a number, also of "1/2", "50 %" and "2 times". Raises: ValueError: if it is not one."""
    number, unit = re.fullmatch(r"(.*?)\s*(%|times|x|×|)", str(given).strip()).groups()  # type: ignore[union-attr]
    try:
        return float(Fraction(number)) / (100 if unit == "%" else 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{given!r} is not a number: write one, as in 1.5, 1/2 or 50 %") from None


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

        question, answer = w.HTML(f"<b>{escape(self.question)}</b>"), w.HTML()
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
                answer.value = escape(str(error))
                return
            entry.disabled = button.disabled = True
            result = f"<pre>{escape(str(self.revealed))}</pre>"
            answer.value = f"{escape(f'Your guess: {self.guess}. The result:')}{result}"

        button.on_click(lock)
        if self.guess is not None:
            lock(None)
        return w.VBox([question, entry, button, answer])


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
