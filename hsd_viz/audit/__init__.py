"""Audits of losslessness: is the output of a decoder distributed as the target's own?

``audit(stack)`` and ``audit(function)`` enumerate a decoder over toy models: :func:`exact`.
:func:`statistical` compares two OpenAI-style endpoints.
"""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from hsd_viz.audit.endpoint import Endpoint
from hsd_viz.audit.exact import TOLERANCE, ExactAudit, Task, exact
from hsd_viz.audit.statistical import StatisticalAudit, statistical
from hsd_viz.decoding.options import DEFAULT_RULE
from hsd_viz.stack import Stack

__all__ = ["Endpoint", "ExactAudit", "StatisticalAudit", "Task", "exact", "statistical"]


class _Audit(ModuleType):
    """This module as a function."""

    def __call__(
        self,
        decoder: str | Stack | Callable[[Task], Sequence[int]],
        *,
        rule: str = DEFAULT_RULE,
        models: int = 2,
        tolerance: float = TOLERANCE,
    ) -> ExactAudit:
        """Audit the loop of a stack, or a function, over toy models.

        Args:
            decoder: a stack, or a function from a :class:`Task` to the new tokens.
            rule: the verification rule of a stack.
            models: toy models of a function, the target included.
            tolerance: probabilities that differ by less are equal.

        Raises:
            UserError: if there are too many outcomes.
        """
        if not isinstance(decoder, str | Stack):
            return exact(decoder, models=models, tolerance=tolerance)
        from hsd_viz.audit.stacks import AuditedStack

        return AuditedStack.of(decoder, rule).audit(tolerance)


sys.modules[__name__].__class__ = _Audit
