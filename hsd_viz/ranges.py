"""Ranges of numbers that a user gives: one check, one message. Pure."""

from typing import Any

from hsd_viz.errors import UserError

#: Most draft tokens a database or baseline may propose in one draft.
MAX_BUDGET = 256


def check_range(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Check that ``value`` is a number from ``low`` to ``high`` (``None``: unbounded), a whole
    number if ``low`` is an ``int``; booleans and NaN are not. ``name`` starts the message.

    Raises:
        UserError: if it is not.
    """
    whole = isinstance(low, int)
    right_type = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if right_type and low <= value and (high is None or value <= high):
        return
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    wrong = "out of range" if right_type and value == value else "not valid"
    raise UserError(
        f"{name} {value} is {wrong}: expected a {'whole ' if whole else ''}number {limits}"
    )


def check_budget(budget: int | None) -> None:
    """Check a number of draft tokens per draft (``None``: the drafter's own).

    Raises:
        UserError: if it is invalid.
    """
    if budget is not None:
        check_range("the budget", budget, 1, MAX_BUDGET)
