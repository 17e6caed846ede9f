"""A sequence of the target's tokens that a draft model reads in its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.session import DraftSession, Model


class TranslatedSession(DraftSession):
    """One sequence of the target's tokens, read by the draft model in its own.

    The text is encoded again after each change. A suffix of the encoding that changed is fed again.
    """

    def __init__(self, model: Model, translator: Translator, room: int | None = None) -> None:
        self._translator = translator
        self._context = model.positions
        self._inner = model.session(room)
        #: The text in the target's tokens.
        self._text: list[int] = []
        #: The draft's tokens in its cache.
        self._ids: list[int] = []

    @property
    def length(self) -> int:  # type: ignore[override]  # other sessions count in an attribute
        return len(self._text)

    def feed(self, tokens: Sequence[int]) -> None:
        self._text += tokens
        self.logits_after_text()

    def truncate(self, length: int) -> None:
        del self._text[length:]

    def extend_draft(self, token: int) -> np.ndarray:
        """Feed a token of the draft model, which is not part of the text; return the logits
        ``[V']`` after it.
        """
        logits = self._inner.forward([token], 1)[0]
        self._ids.append(token)
        return logits

    def logits_after_text(self, room: int = 1) -> np.ndarray:
        """Return the draft's logits ``[V']`` after the text, with ``room`` for so many tokens of
        the draft model after it.
        """
        ids = self._encode_text(room)
        same = 0
        for new, cached in zip(ids[:-1], self._ids, strict=False):
            if new != cached:
                break
            same += 1
        self._inner.truncate(same)
        self._ids = ids
        return self._inner.forward(ids[same:], 1)[0]

    def _encode_text(self, room: int) -> list[int]:
        """Return the text in the draft's tokens, at least one: as much of its end as leaves
        ``room`` in the context.
        """
        lexicon = self._translator.draft
        ids = self._translator.to_draft(self._text)
        if ids[: len(lexicon.start)] != lexicon.start:
            ids = lexicon.start + ids
        if not ids:
            return [next(iter(lexicon.roles.values()), 0)]
        if self._context is None or len(ids) + room <= self._context:
            return ids
        # In steps of half a context, so that the cache is not lost with each token.
        step = max(1, self._context // 2)
        steps = -(-(len(ids) + room - self._context) // step)
        return ids[steps * step :] or ids[-1:]
