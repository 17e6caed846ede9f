"""Resolving a request: all that can be decided about a decode without loading anything, and every
refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.decoding.engine import DEFAULTS, CallOptions
from hsd_viz.decoding.options import Sampling, as_float, types
from hsd_viz.errors import UserError
from hsd_viz.models.families import Family
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.declare import from_data
from hsd_viz.settings.ranges import plain_numbers
from hsd_viz.stack import DATABASE, TARGET, DraftSource, ModelPart, Stack, parse, split_copy


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decode as decided.

    Attributes:
        written: the stack as it was given.
        stack: the stack with all lookaheads, except those that the selector chooses; for ``auto``
            the databases and models to choose from.
        names: the models' own names by level.
        choosing: whether the selector chooses the stack.
        sampling: how tokens are drawn.
        options: all options of the decode.
    """

    written: str
    stack: Stack
    names: tuple[str, ...]
    choosing: bool
    sampling: Sampling
    options: CallOptions

    @property
    def selects(self) -> bool:
        """Whether the selector decides something, for which this machine must be calibrated."""
        return self.choosing or any(model.lookahead == "auto" for model in self.stack.drafts)

    @property
    def levels(self) -> list[str]:
        """The models' names as levels: the last one is ``target``, and no draft model has its
        name.
        """
        return ["ladder-target" if m.name == TARGET else m.name for m in self.stack.drafts] + [
            TARGET
        ]

    def with_stack(self, stack: Stack) -> Resolved:
        """Return the same decode with a selected ``stack``."""
        own = dict(zip((m.name for m in self.stack.models), self.names, strict=True))
        return replace(
            self, stack=stack, names=tuple(own[m.name] for m in stack.models), choosing=False
        )


def with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``options``, with numbers of Python, and the defaults of the others.

    Raises:
        TypeError: if an option is unknown.
        UserError: if a value that must be a number is not.
    """
    if unknown := next((name for name in options if name not in DEFAULTS), None):
        raise TypeError(
            f"unknown option '{unknown}' (use "
            f"{', '.join(DEFAULTS)}){did_you_mean(unknown, DEFAULTS)}"
        )
    values = dict(DEFAULTS)
    for name, value in options.items():
        plain = plain_numbers(value)
        values[name] = as_float(name, plain) if types().get(name) is float else plain
    return values


def resolve(
    stack: str | Stack,
    target: str,
    family: Family,
    where: Callable[[str], str],
    given: Mapping[str, Any],
) -> Resolved:
    """Resolve a stack and the options ``given`` with it.

    ``target`` is what it means, ``family`` has the other short names, ``where`` refuses names that
    are not allowed or not models.

    Raises:
        TypeError: if an option is unknown.
        UserError: if a value or the stack is invalid.
    """
    options = from_data(CallOptions, with_defaults(given))
    parsed = parse(stack)
    written = str(stack).strip()
    decided = candidates(parsed, target, family) if parsed.automatic else parsed.resolved()
    own = tuple(own_name(model.name, target) for model in decided.models)
    for name in own:
        where(name)
        if own.count(name) > 1:
            raise UserError(
                f"in '{written}' {name} would draft for itself: 'target' means {name} here"
            )
    return Resolved(
        written=written,
        stack=decided,
        names=own,
        choosing=parsed.automatic,
        sampling=options.sampling,
        options=options,
    )


def own_name(name: str, target: str) -> str:
    """Return the name of a model or a copy in a stack, where ``target`` is what "target" means."""
    original, copied = split_copy(name)
    if original != TARGET:
        return name
    return target if copied is None else f"{target}[{copied}]"


def candidates(stack: Stack, target: str, family: Family) -> Stack:
    """Return the levels that ``auto`` may use, as a stack: the database, the draft models, the
    target.

    By default these are the databases and all models of the family below ``target``.
    """
    last = target if stack.target.name == TARGET else stack.target.name
    items = stack.bottom.items if stack.bottom is not None else ()
    if not items:
        items = (DATABASE, *family.below(last))
    source = DraftSource(DATABASE) if DATABASE in items else None
    return Stack(source, (*(ModelPart(item) for item in items if item != DATABASE), stack.target))
