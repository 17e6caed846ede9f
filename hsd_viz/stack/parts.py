"""Parsed stacks and their parts; ``str`` returns their text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from hsd_viz.stack.draft_sources import AUTO, draft_sources
from hsd_viz.stack.grammar import (
    DEFAULT_LOOKAHEAD,
    Lookahead,
    split_copy,
    written_name,
)


@dataclass(frozen=True, slots=True)
class DraftSource:
    """A database drafter, a baseline or ``auto``, as the first part of a stack.

    Attributes:
        name: the name of the drafter.
        items: the items in brackets: databases in access order, and options; for ``auto``, ``db``
            and model names. Empty for the default.
    """

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.items:
            return self.name
        allowed = draft_sources()[self.name]
        items = [item if item in allowed else str(ModelPart(item)) for item in self.items]
        return f"{self.name}[{','.join(items)}]"


@dataclass(frozen=True, slots=True)
class ModelPart:
    """A model: a ladder name, a hub id or a path.

    Attributes:
        name: the name, id or path; for a copy, with the type of its weights, as in
            ``target[int8]``.
        lookahead: the least number of tokens that it proposes; ``None`` if it is left out, and for
            the target.
        confidence: the probability below which a draft stops: it ends with the token that makes its
            joint probability, by its own rows, fall below this number. ``None`` if drafts never
            stop for this reason.
    """

    name: str
    lookahead: Lookahead = None
    confidence: float | None = None

    @property
    def original(self) -> str:
        """The name of the model, without the type of a copy."""
        return split_copy(self.name)[0]

    def __str__(self) -> str:
        original, copied = split_copy(self.name)
        text = written_name(original)
        if copied is not None:
            text += f"[{copied}]"
        if self.lookahead is not None:
            text += f":{self.lookahead}"
        if self.confidence is not None:
            text += f"?{Decimal(repr(self.confidence)):f}"
        return text


@dataclass(frozen=True, slots=True)
class Stack:
    """A parsed stack.

    Attributes:
        bottom: the draft source below the models; ``None`` if there is none.
        models: the models, bottom first; the last is the target.
    """

    bottom: DraftSource | None
    models: tuple[ModelPart, ...]

    @property
    def target(self) -> ModelPart:
        return self.models[-1]

    @property
    def drafts(self) -> tuple[ModelPart, ...]:
        """The draft models, bottom first."""
        return self.models[:-1]

    @property
    def source(self) -> str | None:
        """The text of the draft source at the bottom; ``None`` if there is none."""
        return None if self.bottom is None else str(self.bottom)

    @property
    def parts(self) -> tuple[DraftSource | ModelPart, ...]:
        """The parts of the stack, level 0 first."""
        return self.models if self.bottom is None else (self.bottom, *self.models)

    @property
    def automatic(self) -> bool:
        """Whether the draft source is ``auto``, which chooses a stack."""
        return self.bottom is not None and self.bottom.name == AUTO

    def resolved(self, lookahead: Lookahead = DEFAULT_LOOKAHEAD) -> Stack:
        """Return the same stack with ``lookahead`` for draft models without one."""
        drafts = []
        for model in self.drafts:
            if model.lookahead is None:
                model = replace(model, lookahead=lookahead)
            drafts.append(model)
        return Stack(self.bottom, (*drafts, self.target))

    def __str__(self) -> str:
        return " > ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class HFStack:
    """A loop of transformers, for ``bench`` only.

    Attributes:
        name: ``hf-generate``, ``hf-lookup`` or ``hf-assistant``.
        assistant: the draft model of ``hf-assistant[MODEL]``.
    """

    name: str
    assistant: str | None = None

    def __str__(self) -> str:
        return self.name if self.assistant is None else f"{self.name}[{ModelPart(self.assistant)}]"
