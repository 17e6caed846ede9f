"""Compare the vocabularies of draft models with the target's, and adapt draft models to it.

A draft model with the target's tokens is used unchanged. One with the same ids for nearly all
tokens reads the target's ids. One with another tokenizer drafts through a bridge
(:mod:`hsd_viz.decoding.bridges`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import DraftModel, Model
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.engine.result_cache import ResultCache, ResultKind, once
from hsd_viz.errors import UserError

if TYPE_CHECKING:
    from hsd_viz.decoding.bridges.agreeing import AgreeingModel
    from hsd_viz.decoding.bridges.translator import Translator


class HasModels(Protocol):
    """The part of :class:`~hsd_viz.engine.models.EngineModels` that vocabularies need."""

    @property
    def results(self) -> ResultCache: ...

    def location(self, name: str) -> str: ...

    def text(self, name: str) -> TokenText: ...

    def fast(self, name: str) -> Model: ...


@dataclass(frozen=True, slots=True)
class Adapted:
    """A draft model that was adapted to the target's vocabulary.

    Attributes:
        model: the adapted model.
        message: a message to the user about how it drafts.
        description: the facts about the adaptation that a trace records.
    """

    model: DraftModel
    message: str
    description: dict[str, int | str]


class Vocabularies:
    """The vocabularies of an engine's models.

    Args:
        models: the models.
        forced_bridge: the bridge for models with another tokenizer, one of
            :data:`~hsd_viz.settings.engine_choices.BRIDGES`; by default the one that fits.
    """

    def __init__(self, models: HasModels, forced_bridge: str | None = None) -> None:
        self._models = models
        self._forced_bridge = forced_bridge

    @property
    def results(self) -> ResultCache:
        """The cached results of the engine's models."""
        return self._models.results

    def location(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model."""
        return self._models.location(name)

    def check_same(self, target: str, draft: str, hint: str = "") -> None:
        """Check that token ids mean the same to a draft model and the target.

        Raises:
            UserError: if they do not; the message ends with ``hint``.
        """
        difference = self._difference(target, draft)
        if difference is not None:
            raise UserError(
                f"{draft} cannot draft for {target}: "
                f"they have different tokenizers ({difference}){hint}"
            )

    def reads_ids(self, target: str, draft: str) -> bool:
        """Return whether nearly all of the target's ids mean the same to a draft model."""
        if self._difference(target, draft) is None:
            return True
        return self._forced_bridge is None and bool(self._shared(target, draft))

    def adapt(self, target: str, draft: str, sampling: Sampling) -> Adapted | None:
        """Return a draft model adapted to the target; ``None`` if it needs no adaptation.

        Raises:
            UserError: if it knows too few of the target's tokens.
        """
        if self._has_tokens_of(target, draft):
            return None
        if self.reads_ids(target, draft):
            agreeing = self._agreeing(target, draft)
            tokens = f"{len(agreeing.target_ids):,} of the {agreeing.vocab_size:,} tokens"
            return Adapted(
                model=agreeing,
                message=f"{draft} drafts {tokens} of {target}: it has the same ids for them",
                description=agreeing.describe(),
            )
        from hsd_viz.decoding.bridges.model import BridgedModel, choose_bridge

        translator = self._translator(draft, target)
        kind = self._forced_bridge or choose_bridge(translator, sampling)
        size = self._models.fast(target).vocab_size
        bridged = BridgedModel(self._models.fast(draft), translator, kind, size)
        return Adapted(
            model=bridged,
            message=f"{draft} has another tokenizer: it drafts by {kind.upper()}",
            description=bridged.describe(),
        )

    def _has_tokens_of(self, target: str, draft: str) -> bool:
        """Return whether a draft model has the target's tokens with the same ids."""
        if self._difference(target, draft) is not None:
            return False
        return self._models.fast(draft).vocab_size == self._models.fast(target).vocab_size

    @once(ResultKind.DIFFERENCE)
    def _difference(self, target: str, draft: str) -> str | None:
        """Return how the tokenizers of two models differ; ``None`` if they do not."""
        first = self._models.text(target).tokenizer
        second = self._models.text(draft).tokenizer
        return None if first is second else differing_tokens(first, second)

    @once(ResultKind.SHARED, of_copies=True)
    def _shared(self, target: str, draft: str) -> dict[int, int]:
        """Return the draft model's id of each shared token, by the target's id; empty if too few
        are equal.
        """
        from hsd_viz.decoding.bridges.agreeing import agreement

        return agreement(
            self._models.text(draft),
            self._models.fast(draft).vocab_size,
            self._models.text(target),
            self._models.fast(target).vocab_size,
        )

    @once(ResultKind.AGREEING, of_copies=True)
    def _agreeing(self, target: str, draft: str) -> AgreeingModel:
        """Return a draft model that reads the target's ids.

        Raises:
            UserError: if it knows too few of the target's tokens.
        """
        from hsd_viz.decoding.bridges.agreeing import AgreeingModel

        model = self._models.fast(draft)
        size = self._models.fast(target).vocab_size
        shared = self._shared(target, draft)
        if not shared:
            raise UserError(
                f"{draft} cannot draft for {target}: it knows {model.vocab_size} of their "
                f"tokenizer's {self._models.text(target).size} tokens and {target} {size}"
            )
        end = self._models.text(draft).tokenizer.eos_token_id
        substitute = end if end is not None and end < model.vocab_size else 0
        return AgreeingModel(model, shared, size, substitute)

    @once(ResultKind.TRANSLATOR, of_copies=True)
    def _translator(self, draft: str, target: str) -> Translator:
        from hsd_viz.decoding.bridges.lexicon import Lexicon
        from hsd_viz.decoding.bridges.translator import Translator

        return Translator(
            Lexicon(self._models.text(draft), self._models.fast(draft).vocab_size),
            Lexicon(self._models.text(target), self._models.fast(target).vocab_size),
        )
