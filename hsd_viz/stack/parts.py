"""The parts of a stack as values; ``str`` writes them as text."""

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
    """A database drafter, a baseline or ``auto``, first in a stack.

    Attributes:
        name: of the drafter.
        items: databases in access order, and options; of ``auto`` ``db`` and model names. Empty for
            the default.
    """

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.items:
            return self.name
        known = draft_sources()[self.name]
        items = [item if item in known else str(ModelPart(item)) for item in self.items]
        return f"{self.name}[{','.join(items)}]"


@dataclass(frozen=True, slots=True)
class ModelPart:
    """A model: a ladder name, a hub id or a path.

    Attributes:
        name: the name, id or path; of a copy with the type of its weights, as in ``target[int8]``.
        lookahead: the tokens that it proposes at least; ``None`` if left out, and for the target.
        confidence: its draft stops after the token with which the draft's probability by its own
            rows falls below this number; ``None``: it never stops for this reason.
    """

    name: str
    lookahead: Lookahead = None
    confidence: float | None = None

    @property
    def original(self) -> str:
        """The name of the model itself, without the type of a copy."""
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
        bottom: the draft source below the models, if there is one.
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
        """The draft source at the bottom, as the stack writes it."""
        return None if self.bottom is None else str(self.bottom)

    @property
    def parts(self) -> tuple[DraftSource | ModelPart, ...]:
        """The parts by level, level 0 first."""
        return self.models if self.bottom is None else (self.bottom, *self.models)

    @property
    def automatic(self) -> bool:
        """Whether the draft source is ``auto``, which chooses a stack."""
        return self.bottom is not None and self.bottom.name == AUTO

    def resolved(self, lookahead: Lookahead = DEFAULT_LOOKAHEAD) -> Stack:
        """Return the same stack with ``lookahead`` where it was left out."""
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
    """transformers' own loop (``bench`` only).

    Attributes:
        name: ``hf-generate``, ``hf-lookup`` or ``hf-assistant``.
        assistant: the model of ``hf-assistant[MODEL]``.
    """

    name: str
    assistant: str | None = None

    def __str__(self) -> str:
        return self.name if self.assistant is None else f"{self.name}[{ModelPart(self.assistant)}]"
