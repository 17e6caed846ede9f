"""Resolve a request for a decode: every decision and check that needs no loaded model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.errors import UserError
from hsd_viz.models.families import Family
from hsd_viz.stack import DATABASE, TARGET, DraftSource, ModelPart, Stack, parse, split_copy


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolved request for a decode.

    Attributes:
        written: the text of the stack as requested.
        stack: the stack with all lookaheads, except those that the selector chooses; for ``auto``,
            the databases and models to choose from.
        names: the names of the models by level, with that of the target in place of ``target``.
        choosing: whether the selector chooses the stack.
        options: the options of the decode.
    """

    written: str
    stack: Stack
    names: tuple[str, ...]
    choosing: bool
    options: DecodingOptions

    @property
    def selects(self) -> bool:
        """Whether the selector has to decide something, which needs a calibrated machine."""
        return self.choosing or any(model.lookahead == "auto" for model in self.stack.drafts)

    @property
    def levels(self) -> list[str]:
        """The names of the models as levels in the trace.

        The last one is ``target``. A draft model that is named ``target`` is called
        ``ladder-target``, so that names are unique.
        """
        return ["ladder-target" if m.name == TARGET else m.name for m in self.stack.drafts] + [
            TARGET
        ]

    def with_stack(self, stack: Stack) -> Resolved:
        """Return the same request with the stack that the selector chose."""
        name_by_part = dict(zip((m.name for m in self.stack.models), self.names, strict=True))
        return replace(
            self,
            stack=stack,
            names=tuple(name_by_part[m.name] for m in stack.models),
            choosing=False,
        )


def resolve(
    stack: str | Stack,
    target: str,
    family: Family,
    check_model: Callable[[str], object],
    options: DecodingOptions,
) -> Resolved:
    """Resolve a request for a decode.

    Args:
        stack: the stack as text or parsed.
        target: the name of the model that ``target`` refers to.
        family: the family with the other short names.
        check_model: a function that raises an error for a name that is not a model or not allowed.
        options: the options of the decode.

    Raises:
        UserError: if the stack is invalid.
    """
    parsed = parse(stack)
    written = str(stack).strip()
    resolved = candidates(parsed, target, family) if parsed.automatic else parsed.resolved()
    names = tuple(own_name(model.name, target) for model in resolved.models)
    for name in names:
        check_model(name)
        if names.count(name) > 1:
            raise UserError(
                f"in '{written}' {name} would draft for itself: 'target' means {name} here"
            )
    return Resolved(
        written=written,
        stack=resolved,
        names=names,
        choosing=parsed.automatic,
        options=options,
    )


def own_name(name: str, target: str) -> str:
    """Return the name of a model or a copy in a stack, with "target" replaced by ``target``."""
    original, copied = split_copy(name)
    if original != TARGET:
        return name
    return target if copied is None else f"{target}[{copied}]"


def candidates(stack: Stack, target: str, family: Family) -> Stack:
    """Return the database and models that the selector may use for ``auto``, as a stack.

    By default these are the databases and all models of the family that are smaller than
    ``target``.
    """
    last = target if stack.target.name == TARGET else stack.target.name
    items = stack.bottom.items if stack.bottom is not None else ()
    if not items:
        items = (DATABASE, *family.below(last))
    source = DraftSource(DATABASE) if DATABASE in items else None
    return Stack(source, (*(ModelPart(item) for item in items if item != DATABASE), stack.target))
