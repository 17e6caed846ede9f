"""Draft models with another vocabulary than the target's: whether they fit, and what adapts them.

A draft model with the target's tokens is used as it is. One with the same ids for nearly all tokens
reads the target's ids; one with another tokenizer drafts over a bridge
(:mod:`hsd_viz.decoding.bridges`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import DraftModel, Model
from hsd_viz.decoding.text import TokenText, differing_tokens
from hsd_viz.engine.once import Made, Results, once
from hsd_viz.errors import UserError

if TYPE_CHECKING:
    from hsd_viz.decoding.bridges.agreeing import AgreeingModel
    from hsd_viz.decoding.bridges.translator import Translator


class HasModels(Protocol):
    """The models of an engine by name."""

    @property
    def results(self) -> Results: ...

    def where(self, name: str) -> str: ...

    def text(self, name: str) -> TokenText: ...

    def fast(self, name: str) -> Model: ...


@dataclass(frozen=True, slots=True)
class Adapted:
    """A draft model behind the interface of a model with the target's vocabulary.

    Attributes:
        model: the model.
        message: how it drafts, for a user who waits.
        description: what a trace says of it.
    """

    model: DraftModel
    message: str
    description: dict[str, int | str]


class Vocabularies:
    """The vocabularies of an engine's models."""

    def __init__(self, models: HasModels, forced_bridge: str | None = None) -> None:
        """Compare the vocabularies of ``models``.

        ``forced_bridge``: the bridge of a model with another tokenizer, one of
        :data:`~hsd_viz.settings.engine_choices.BRIDGES`.
        """
        self._models = models
        self._forced_bridge = forced_bridge

    @property
    def results(self) -> Results:
        """What was made of the engine's models."""
        return self._models.results

    def where(self, name: str) -> str:
        """Return the files of a model."""
        return self._models.where(name)

    def check_same(self, target: str, draft: str, hint: str = "") -> None:
        """Raise ``UserError`` when a draft model's token ids do not mean what the target's do."""
        difference = self._difference(target, draft)
        if difference is not None:
            raise UserError(
                f"{draft} cannot draft for {target}: "
                f"they have different tokenizers ({difference}){hint}"
            )

    def reads_ids(self, target: str, draft: str) -> bool:
        """Return whether the target's ids mean the same to a draft model, but for few."""
        if self._difference(target, draft) is None:
            return True
        return self._forced_bridge is None and bool(self._shared(target, draft))

    def adapt(self, target: str, draft: str, sampling: Sampling) -> Adapted | None:
        """Return what lets a draft model draft for the target; ``None`` if it has its tokens.

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
        """Return whether a draft model knows the target's tokens, by the same ids."""
        if self._difference(target, draft) is not None:
            return False
        return self._models.fast(draft).vocab_size == self._models.fast(target).vocab_size

    @once(Made.DIFFERENCE)
    def _difference(self, target: str, draft: str) -> str | None:
        """Return how two models' tokenizers differ; ``None`` if their token ids mean the same."""
        one = self._models.text(target).tokenizer
        other = self._models.text(draft).tokenizer
        return None if one is other else differing_tokens(one, other)

    @once(Made.SHARED, of_copies=True)
    def _shared(self, target: str, draft: str) -> dict[int, int]:
        """Return the tokens with the same id, the target's to the draft's; few: none."""
        from hsd_viz.decoding.bridges.agreeing import agreement

        return agreement(
            self._models.text(draft),
            self._models.fast(draft).vocab_size,
            self._models.text(target),
            self._models.fast(target).vocab_size,
        )

    @once(Made.AGREEING, of_copies=True)
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

    @once(Made.TRANSLATOR, of_copies=True)
    def _translator(self, draft: str, target: str) -> Translator:
        from hsd_viz.decoding.bridges.lexicon import Lexicon
        from hsd_viz.decoding.bridges.translator import Translator

        return Translator(
            Lexicon(self._models.text(draft), self._models.fast(draft).vocab_size),
            Lexicon(self._models.text(target), self._models.fast(target).vocab_size),
        )
