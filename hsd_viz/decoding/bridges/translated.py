"""The base class of sessions whose draft model reads the target's tokens in its own vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.session import DraftSession, Model


class TranslatedSession(DraftSession):
    """A sequence of the target's tokens, which the draft model reads in its own vocabulary.

    After each change the text is encoded again, and the draft model is fed from the first token of
    the encoding that differs from the cache.
    """

    def __init__(self, model: Model, translator: Translator, room: int | None = None) -> None:
        self._translator = translator
        self._context = model.positions
        self._inner = model.session(room)
        #: The text, in tokens of the target.
        self._text: list[int] = []
        #: The contents of the cache, in tokens of the draft model.
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
        """Feed a token of the draft model that is not part of the text, and return the logits
        ``[V']`` after it.
        """
        logits = self._inner.forward([token], 1)[0]
        self._ids.append(token)
        return logits

    def logits_after_text(self, room: int = 1) -> np.ndarray:
        """Return the draft model's logits ``[V']`` after the text.

        The context keeps space for ``room`` further tokens of the draft model.
        """
        ids = self._encode_text(room)
        common = 0
        for new, cached in zip(ids[:-1], self._ids, strict=False):
            if new != cached:
                break
            common += 1
        self._inner.truncate(common)
        self._ids = ids
        return self._inner.forward(ids[common:], 1)[0]

    def _encode_text(self, room: int) -> list[int]:
        """Return the text in tokens of the draft model, at least one.

        A text that leaves less than ``room`` tokens in the context is cut at its start.
        """
        lexicon = self._translator.draft
        ids = self._translator.to_draft(self._text)
        if ids[: len(lexicon.start)] != lexicon.start:
            ids = lexicon.start + ids
        if not ids:
            return [next(iter(lexicon.roles.values()), 0)]
        if self._context is None or len(ids) + room <= self._context:
            return ids
        # Cut in steps of half a context: a shift for each token would discard the cache each time.
        step = max(1, self._context // 2)
        steps = -(-(len(ids) + room - self._context) // step)
        return ids[steps * step :] or ids[-1:]
