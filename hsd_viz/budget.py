"""How many draft tokens a database or rival may put up at a time: one bound for the engine, the bench and their commands."""

from __future__ import annotations

MAX_BUDGET = 256


def check_budget(budget: int | None) -> None:
    """Raise ``ValueError`` with one sentence where ``budget`` is no budget; ``None``, each drafter's own, is one."""
    if budget is not None and (
        isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_BUDGET
    ):
        raise ValueError(
            f"a budget of {budget} draft tokens is out of range: it is a whole number from 1 to {MAX_BUDGET}"
        )
