"""Draft models whose vocabulary differs from the target's in few tokens: they read its ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.session import Model, Session
from hsd_viz.decoding.text import TokenText

#: Share of the draft model's tokens that must have the same id in the target for the ids to be read
#: as they are.
MIN_AGREEING = 0.9


def agreement(draft: TokenText, draft_size: int, target: TokenText, size: int) -> dict[int, int]:
    """Return the tokens that two models have in common, the target's id to the draft's; empty where
    too few of the draft's tokens have the same id in the target.

    Args:
        draft: the draft model's tokenizer.
        draft_size: the tokens that the draft model knows.
        target: the target's tokenizer.
        size: the tokens that the target knows.
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
    """A draft model whose vocabulary differs from the target's in few tokens, behind the interface
    of a model with the target's: a :class:`~hsd_viz.decoding.session.Model`.

    It reads the target's tokens by their ids, and each that it does not know as ``substitute``: a
    draft may be worse after it, and is as lossless as any other. Its rows are restricted to the
    tokens of both, so that they can be drafted from and verified against at any level.

    Attributes:
        model: the draft model.
        target_ids: the tokens of both ``[n]``, by their ids in the target.
        own_ids: the same tokens by their ids in the draft model.
        read_as: by the target's id, the draft's token that is read in its place.
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
        """Return what a trace says of the vocabularies."""
        return {
            "bridge": "ids",
            "shared_tokens": len(self.target_ids),
            "draft_tokens": self.model.vocab_size,
            "target_tokens": self.vocab_size,
        }


class AgreeingSession(Session):
    """One sequence of the target's tokens, read by their ids."""

    def __init__(self, model: AgreeingModel, room: int | None = None) -> None:
        self._model = model
        self._inner = model.model.session(room)

    @property
    def length(self) -> int:  # type: ignore[override]  # other sessions count in an attribute
        return self._inner.length

    def feed(self, tokens: Sequence[int]) -> None:
        self._inner.feed(self._own(tokens))

    def truncate(self, length: int) -> None:
        self._inner.truncate(length)

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self._inner.keep(base, nodes)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        own = self._inner.forward(self._own(tokens), rows, parents)
        scores = np.full((rows, self._model.vocab_size), -np.inf, own.dtype)
        scores[:, self._model.target_ids] = own[:, self._model.own_ids]
        return scores

    def _own(self, tokens: Sequence[int]) -> list[int]:
        return [self._model.read_as[token] for token in tokens]
