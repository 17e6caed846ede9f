"""The function ``hsd.audit``: the exact audit of a stack or of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hsd_viz.decoding.options import DEFAULT_RULE
from hsd_viz.measure.audit.exact import ExactAudit, Task, exact
from hsd_viz.measure.audit.options import TOLERANCE, TOY_MODELS
from hsd_viz.measure.audit.stacks import AuditedStack
from hsd_viz.stack import Stack


def audit(
    decoder: str | Stack | Callable[[Task], Sequence[int]],
    *,
    rule: str = DEFAULT_RULE,
    models: int = TOY_MODELS,
    tolerance: float = TOLERANCE,
) -> ExactAudit:
    """Audit the loop of a stack, or a function, over toy models.

    Args:
        decoder: a stack, or a function from a :class:`Task` to the new tokens.
        rule: the verification rule of a stack.
        models: the number of toy models for a function, including the target.
        tolerance: the difference below which probabilities count as equal.

    Raises:
        UserError: if there are too many outcomes.
    """
    if isinstance(decoder, str | Stack):
        return AuditedStack.of(decoder, rule).audit(tolerance)
    return exact(decoder, models=models, tolerance=tolerance)
