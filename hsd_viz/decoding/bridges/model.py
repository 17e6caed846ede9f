"""The adapter that gives a draft model with another tokenizer the target's vocabulary."""

from __future__ import annotations

from hsd_viz.decoding.bridges.slem import SlemSession
from hsd_viz.decoding.bridges.tli import TliSession
from hsd_viz.decoding.bridges.translated import TranslatedSession
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.errors import UserError

#: The share of the draft model's tokens that the target must share for TLI to be chosen.
MIN_SHARED = 0.5


def choose_bridge(translator: Translator, sampling: Sampling) -> str:
    """Return the kind of bridge to use: ``slem`` for greedy decoding or few shared tokens, else
    ``tli``, which samples.
    """
    shares_enough = len(translator.shared) >= MIN_SHARED * translator.draft.size
    return "tli" if shares_enough and not sampling.greedy else "slem"


class BridgedModel:
    """A :class:`~hsd_viz.decoding.session.DraftModel` with the target's vocabulary around a draft
    model with another tokenizer.

    Args:
        model: the draft model.
        translator: the translator between both vocabularies.
        kind: the kind of bridge, one of :data:`~hsd_viz.settings.engine_choices.BRIDGES`.
        vocab_size: the size of the target's vocabulary.

    Raises:
        UserError: if the kind is TLI and no token is shared.
    """

    #: Unlimited, because the draft model reads the end of a text that exceeds its context.
    positions = None

    def __init__(self, model: Model, translator: Translator, kind: str, vocab_size: int) -> None:
        if kind == "tli" and not translator.shared:
            raise UserError(f"{model.name} and the target share no token: use the bridge slem")
        self.model = model
        self.translator = translator
        self.kind = kind
        self.vocab_size = vocab_size
        self.name = model.name
        self.dtype = model.dtype
        self.runtime = model.runtime
        self.parameters = model.parameters

    def session(self, room: int | None = None) -> TranslatedSession:
        """Open an empty sequence."""
        if self.kind == "tli":
            return TliSession(self.model, self.translator, self.vocab_size, room)
        return SlemSession(self.model, self.translator, room)

    def describe(self) -> dict[str, int | str]:
        """Return the facts about the bridge that a trace records."""
        return {
            "bridge": self.kind,
            "shared_tokens": len(self.translator.shared),
            "draft_tokens": self.model.vocab_size,
            "target_tokens": self.vocab_size,
        }
