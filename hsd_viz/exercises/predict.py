"""A question to answer before the result is shown: the guess is locked, then the result appears beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from hsd_viz.exercises.quiz import entry_of, number_of, words
from hsd_viz.words import did_you_mean


class Guess:
    """A question with a locked guess. In a notebook it is a form; :meth:`lock` does the same from code.

    ``guess`` is ``None`` until it is locked, ``revealed`` the result until then not computed.
    """

    def __init__(self, question: str, reveal: Callable[[], Any], options: Sequence[str] = ()) -> None:
        self.question = question
        self.options = tuple(map(str, options))
        self.guess: Any = None
        self.revealed: Any = None
        self._reveal = reveal
        self._form: Any = None

    def lock(self, guess: Any) -> Guess:
        """Lock the guess and compute the result.

        Raises: ValueError: if a guess is locked already, or is not one of the options or a number.
        """
        if self.guess is not None:
            raise ValueError(f"the guess {self.guess!r} is locked: run the cell again for another one")
        if self.options:
            if str(guess) not in self.options:
                hint = did_you_mean(str(guess), self.options)
                raise ValueError(f"{guess!r} is not an option (use {', '.join(self.options)}){hint}")
            guess = str(guess)
        else:
            guess = number_of(guess)
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
        if self._form is None:
            self._form = _form(self)
        bundle = self._form._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self)}, metadata


def _form(guess: Guess) -> Any:
    """Return the form of a question: an entry, a button, and a place for the result beside the guess."""
    import ipywidgets as w

    question, problem, shown = words(f"<b>{escape(guess.question)}</b>"), w.HTML(), w.Output()
    entry = entry_of(guess.options)
    button = w.Button(description="Lock the guess")

    def lock(_: Any) -> None:
        try:
            if guess.guess is None:
                guess.lock(entry.value)
        except Exception as error:  # callbacks of widgets lose exceptions
            problem.value = escape(str(error))
            return
        entry.disabled = button.disabled = True
        problem.value = escape(f"Your guess: {guess.guess}. The result:")
        _show(shown, guess.revealed)

    button.on_click(lock)
    form = w.VBox([question, entry, button, problem, shown])
    if guess.guess is not None:
        lock(None)
    return form


def _show(output: Any, value: Any) -> None:
    """Show a value in an ``Output`` widget; a plotly figure through the extension that the views use."""
    if hasattr(value, "to_plotly_json"):
        from IPython.display import display

        data = {"application/vnd.plotly.v1+json": value.to_plotly_json(), "text/plain": "a figure"}
        with output:
            display(data, raw=True)
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
