"""A draft model with another tokenizer, behind the interface of a draft model with the target's."""

from __future__ import annotations

from hsd_viz.decoding.bridges.slem import SlemSession
from hsd_viz.decoding.bridges.tli import TliSession
from hsd_viz.decoding.bridges.translated import TranslatedSession
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.errors import UserError

#: Share of the draft model's tokens that the target must have, too, for TLI to be chosen.
MIN_SHARED = 0.5


def choose_bridge(translator: Translator, sampling: Sampling) -> str:
    """Return the kind of bridge that fits: SLEM for greedy decoding or few shared tokens, else TLI,
    which samples.
    """
    enough = len(translator.shared) >= MIN_SHARED * translator.draft.size
    return "tli" if enough and not sampling.greedy else "slem"


class BridgedModel:
    """A draft model with another tokenizer behind the interface of a draft model with the target's
    (``vocab_size`` tokens), by a bridge of a ``kind`` of
    :data:`~hsd_viz.settings.engine_choices.BRIDGES`: a
    :class:`~hsd_viz.decoding.session.DraftModel`.

    Raises:
        UserError: for TLI without a shared token.
    """

    #: It reads the end of a text that is longer than its context.
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
        """Return what a trace says of the bridge."""
        return {
            "bridge": self.kind,
            "shared_tokens": len(self.translator.shared),
            "draft_tokens": self.model.vocab_size,
            "target_tokens": self.vocab_size,
        }
