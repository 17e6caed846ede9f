"""Draft models that read the target's token ids, as their vocabularies differ in few tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.session import Model, Session
from hsd_viz.decoding.text import TokenText

#: The share of the draft model's tokens that must have the same id in the target for the draft
#: model to read the target's ids.
MIN_AGREEING = 0.9


def agreement(draft: TokenText, draft_size: int, target: TokenText, size: int) -> dict[int, int]:
    """Return the tokens that two models share.

    Args:
        draft: the draft model's tokenizer.
        draft_size: the size of the draft model's vocabulary.
        target: the target's tokenizer.
        size: the size of the target's vocabulary.

    Returns:
        The draft model's id of each shared token, by the target's id; empty if too few of the draft
        model's tokens have the same id in the target.
    """
    draft_ids = draft.tokenizer.get_vocab()
    shared: dict[int, int] = {}
    for name, token in target.tokenizer.get_vocab().items():
        draft_token = draft_ids.get(name, draft_size)
        if token < size and draft_token < draft_size:
            shared[token] = draft_token
    agreeing = sum(1 for token, draft_token in shared.items() if token == draft_token)
    return shared if agreeing >= MIN_AGREEING * draft_size else {}


class AgreeingModel:
    """A :class:`~hsd_viz.decoding.session.Model` with the target's vocabulary around a draft model
    whose vocabulary differs from it in few tokens.

    The draft model reads the target's ids. A token that it does not know is read as ``substitute``,
    after which drafts may be less accurate but remain lossless. Rows are restricted to shared
    tokens, so that they can be drafted from and verified against at any level.

    Attributes:
        model: the draft model.
        target_ids: the target's ids of the shared tokens ``[n]``.
        own_ids: the draft model's ids of the same tokens ``[n]``.
        read_as: the draft model's id that is read for each id of the target.
    """

    def __init__(
        self, model: Model, shared: dict[int, int], vocab_size: int, substitute: int
    ) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.name = model.name
        self.dtype = model.dtype
        self.runtime = model.runtime
        self.parameters = model.parameters
        self.positions = model.positions
        self.target_ids = np.array([*shared], dtype=np.intp)
        self.own_ids = np.array([*shared.values()], dtype=np.intp)
        self.read_as = [shared.get(token, substitute) for token in range(vocab_size)]

    def session(self, room: int | None = None) -> AgreeingSession:
        """Open an empty sequence."""
        return AgreeingSession(self, room)

    def describe(self) -> dict[str, int | str]:
        """Return the facts about the vocabularies that a trace records."""
        return {
            "bridge": "ids",
            "shared_tokens": len(self.target_ids),
            "draft_tokens": self.model.vocab_size,
            "target_tokens": self.vocab_size,
        }


class AgreeingSession(Session):
    """A sequence of the target's tokens that the draft model reads by their ids."""

    def __init__(self, model: AgreeingModel, room: int | None = None) -> None:
        self._model = model
        self._inner = model.model.session(room)

    @property
    def length(self) -> int:  # type: ignore[override]  # other sessions count in an attribute
        return self._inner.length

    def feed(self, tokens: Sequence[int]) -> None:
        self._inner.feed(self._draft_tokens(tokens))

    def truncate(self, length: int) -> None:
        self._inner.truncate(length)

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self._inner.keep(base, nodes)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        draft_scores = self._inner.forward(self._draft_tokens(tokens), rows, parents)
        scores = np.full((rows, self._model.vocab_size), -np.inf, draft_scores.dtype)
        scores[:, self._model.target_ids] = draft_scores[:, self._model.own_ids]
        return scores

    def _draft_tokens(self, tokens: Sequence[int]) -> list[int]:
        return [self._model.read_as[token] for token in tokens]
