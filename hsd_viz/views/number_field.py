"""A number field that keeps its text as typed and shows errors below it."""

from __future__ import annotations

import re
from typing import Any

import traitlets

from hsd_viz.views.scripts import Part

_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,15}([.,][0-9]{0,15})?|[.,][0-9]{1,15})([eE][+-]?[0-9]{1,3})?")
#: Maximum characters of invalid text shown in an error.
MOST_SHOWN = 20


class NumberField(Part):
    """A number from ``low`` to ``high``, as in ``0.5``, ``0,5`` or ``1e-9``; ``whole``: an integer.

    ``text`` is the field's text. ``problem``, shown below the field and raised by :attr:`value`, is the error, or "".
    """

    view = traitlets.Unicode("number_field").tag(sync=True)

    label = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    whole = traitlets.Bool(False).tag(sync=True)

    def __init__(self, label: str, value: float, low: float, high: float, *, whole: bool = False) -> None:
        self._low, self._high = low, high
        super().__init__(label=label, text=written(value), whole=whole)
        self.add_class("hsd-number")
        self.observe(self._check, "text")

    @property
    def value(self) -> float:
        """The number; ``int`` if ``whole``. Raises: ValueError: if the text is invalid."""
        typed = self.text.strip()
        if (_WHOLE if self.whole else _DECIMAL).fullmatch(typed):
            number = int(typed) if self.whole else float(typed.replace(",", "."))
            if self._low <= number <= self._high:
                return number
        shown = f"{typed[:MOST_SHOWN]}…" if len(typed) > MOST_SHOWN else typed
        kind = "a whole number" if self.whole else "a number"
        name = self.label.split(" (")[0]
        raise ValueError(
            f"{name} must be {kind} from {written(self._low)} to {written(self._high)}, not {shown or 'empty'}"
        )

    @value.setter
    def value(self, number: float) -> None:
        self.text = written(number)

    def _check(self, _change: Any) -> None:
        problem = ""
        try:
            _ = self.value
        except ValueError as error:
            problem = f"{error}."
        self.problem = problem


def written(number: float) -> str:
    """Return a number as a field shows it."""
    return str(int(number)) if number == int(number) else repr(number)
