"""A field for a number that never changes what was typed into it: what cannot be taken is said beneath it."""

from __future__ import annotations

import re
from typing import Any

import anywidget
import traitlets

from hsd_viz.views.scripts import STATIC

_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,15}([.,][0-9]{0,15})?|[.,][0-9]{1,15})")
#: Characters of what was typed that are shown again.
MOST_SHOWN = 20


class NumberField(anywidget.AnyWidget):
    """A number from ``low`` to ``high``, with a comma or a point before its decimals, or a ``whole`` one.

    ``text`` is what stands in the field. ``problem`` says in one sentence why that is no number for it ("": it is one), and is shown
    beneath the field; :attr:`value` raises it.
    """

    _esm = STATIC / "number_field.js"

    label = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    whole = traitlets.Bool(False).tag(sync=True)

    def __init__(self, label: str, value: float, low: float, high: float, *, whole: bool = False) -> None:
        self._low, self._high = low, high
        super().__init__(label=label, text=_written(value), whole=whole)
        self.add_class("hsd-number")
        self.observe(self._check, "text")

    @property
    def value(self) -> float:
        """The number in the field; ``int`` where it is to be whole. Raises ``ValueError`` with one sentence where there is none."""
        typed = self.text.strip()
        if (_WHOLE if self.whole else _DECIMAL).fullmatch(typed):
            number = int(typed) if self.whole else float(typed.replace(",", "."))
            if self._low <= number <= self._high:
                return number
        shown = f"{typed[:MOST_SHOWN]}…" if len(typed) > MOST_SHOWN else typed
        kind = "a whole number" if self.whole else "a number"
        name = self.label.split(" (")[0]
        raise ValueError(
            f"{name} takes {kind} from {_written(self._low)} to {_written(self._high)}, not {shown or 'nothing'}"
        )

    @value.setter
    def value(self, number: float) -> None:
        self.text = _written(number)

    def _check(self, _change: Any) -> None:
        problem = ""
        try:
            _ = self.value
        except ValueError as error:
            problem = f"{error}."
        self.problem = problem


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
