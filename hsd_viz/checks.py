"""Range checks shared by all packages, with one wording of the error. Pure."""

from __future__ import annotations

from typing import Any

#: Most draft tokens a database or baseline may propose in one draft.
MAX_BUDGET = 256


def check_range(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Check that ``value`` is a number from ``low`` to ``high`` (``None``: unbounded).

    It must be a whole number if ``low`` is an ``int``. ``name`` starts the message: a noun phrase such as ``"the
    port"``. Booleans and NaN are rejected.

    Raises:
        ValueError: if ``value`` is of another type or outside the range.

    >>> check_range("the port", 0, 1, 65535)
    Traceback (most recent call last):
    ValueError: the port 0 is out of range: expected a whole number from 1 to 65535
    """
    whole = isinstance(low, int)
    right_type = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if right_type and low <= value and (high is None or value <= high):
        return
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise ValueError(f"{name} {value} is out of range: expected a {'whole ' if whole else ''}number {limits}")


def check_budget(budget: int | None) -> None:
    """Check a number of draft tokens per draft; ``None`` leaves it to the drafter.

    Raises:
        ValueError: if ``budget`` is not a whole number from 1 to :data:`MAX_BUDGET`.
    """
    if budget is not None:
        check_range("the budget", budget, 1, MAX_BUDGET)
