"""Ranges of numbers that a user gives: one check, one message; limits that packages share. Pure."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

from hsd_viz.errors import UserError

#: Most draft tokens a database or baseline may propose in one draft.
MAX_BUDGET = 256
#: Token ids are below this, the end of Unicode: databases and look-up store them as characters.
MAX_IDS = 0x110000
#: Most tokens of a key of a database.
MAX_KEY_LENGTH = 32
#: The largest plausible size of a layer or a vocabulary: beyond it, a file of a model is damaged.
MAX_SIZE = 10_000_000
#: Most GPUs that share a model, requests of a batch, and cached tokens of a request.
MAX_GPUS = 64
MAX_BATCH = 4096
MAX_CONTEXT = 10_000_000
#: Most toy models of an exact audit.
MAX_TOY_MODELS = 4


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a setting takes.

    Attributes:
        low: the smallest number; an ``int`` allows whole numbers only.
        high: the largest number; ``None`` without a limit.
        above_low: whether a number, whole or not, must be above ``low``.
        off: the number that switches the setting off, where messages and the form name it.
    """

    low: float
    high: float | None = None
    _: KW_ONLY
    above_low: bool = False
    off: float | None = None

    def check(self, noun: str, value: Any) -> None:
        """Check a value; ``noun`` starts the message.

        Raises:
            UserError: if it is out of range, or not a number.
        """
        if not self.above_low:
            check_range(noun, value, self.low, self.high)
            return
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if is_number and self.low < value and (self.high is None or value <= self.high):
            return
        shown = f"{value:g}" if is_number else f"{value!s:.40}"
        wrong = "out of range" if is_number and value == value else "not valid"
        raise UserError(f"{noun} {shown} is {wrong}: expected {self._allowed()}")

    @property
    def off_text(self) -> str:
        """The number that switches the setting off, to append to a text; "" if there is none."""
        return "" if self.off is None else f" ({self.off:g}: off)"

    def _allowed(self) -> str:
        """Return the range of a setting whose numbers are above ``low``, as text."""
        allowed = f"a number above {self.low:g}"
        if self.high is not None:
            allowed += f" and up to {self.high:g}"
        return f"{allowed}{self.off_text}"


def plain_numbers(value: Any) -> Any:
    """Return numbers and arrays of numpy as numbers and lists of Python, also those in a tuple or
    list; another value as it is.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value) in (tuple, list):
        return type(value)(map(plain_numbers, value))
    return value


def check_range(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Check that ``value`` is a number from ``low`` to ``high`` (``None``: unbounded), a whole
    number if ``low`` is an ``int``; booleans and NaN are not. ``name`` starts the message.

    Raises:
        UserError: if it is not.
    """
    whole = isinstance(low, int)
    right_type = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if right_type and low <= value and (high is None or value <= high):
        return
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    shown = value if right_type else f"{value!s:.40}"
    wrong = "out of range" if right_type and value == value else "not valid"
    raise UserError(
        f"{name} {shown} is {wrong}: expected a {'whole ' if whole else ''}number {limits}"
    )


def check_budget(budget: int | None) -> None:
    """Check a number of draft tokens per draft (``None``: the drafter's own).

    Raises:
        UserError: if it is invalid.
    """
    if budget is not None:
        check_range("the budget", budget, 1, MAX_BUDGET)
