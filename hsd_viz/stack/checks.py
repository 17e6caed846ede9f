"""Check the parts of a stack against each other."""

from __future__ import annotations

from hsd_viz.stack.draft_sources import AUTO, DATABASE
from hsd_viz.stack.grammar import StackError
from hsd_viz.stack.parts import DraftSource, ModelPart, Stack


def check_stack(stack: Stack) -> None:
    """Check the parts of a stack against each other.

    Raises:
        StackError: if the target is a copy or has settings, if models follow ``auto``, or if a
            model would draft for itself.
    """
    _check_target(stack.target)
    if stack.bottom is not None and stack.automatic:
        _check_automatic(stack, stack.bottom)
    names = [model.name for model in stack.models]
    for name in names:
        if names.count(name) > 1:
            raise StackError(
                f"'{name}' appears twice in the stack: a model cannot draft for itself"
            )


def _check_target(target: ModelPart) -> None:
    """Check that the target is not a copy and has no settings of a draft model."""
    if target.original != target.name:
        raise StackError(
            f"the last part '{target}' is the target, of which the option dtype sets the type "
            f"of the weights: write '{ModelPart(target.original)}'"
        )
    if target.lookahead is not None or target.confidence is not None:
        plain = ModelPart(target.name)
        what = "confidence" if target.lookahead is None else "lookahead"
        raise StackError(
            f"the last part '{target}' is the target and takes no {what}: write '{plain}'"
        )


def _check_automatic(stack: Stack, bottom: DraftSource) -> None:
    """Check that only the target follows ``auto``, and that it is not one of its items."""
    if stack.drafts:
        drafts = [model.name for model in stack.drafts]
        named = f"{DraftSource(AUTO, (DATABASE, *drafts))} > {stack.target}"
        raise StackError(
            f"'auto' chooses the draft models and must be followed by the target: write '{named}'"
        )
    target = stack.target.name
    if target in bottom.items:
        raise StackError(
            f"'{target}' is the target and in '{bottom}': a model cannot draft for itself"
        )
