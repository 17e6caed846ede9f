"""Translation between the tokens of a draft model and those of a target with another tokenizer."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import accumulate

from hsd_viz.decoding.bridges.lexicon import Lexicon

#: The number of text tokens before a draft that its tokenization takes into account.
_CONTEXT = 16


class Translator:
    """A translator between two vocabularies, and the tokens that they share.

    Attributes:
        draft: the vocabulary of the draft model.
        target: the vocabulary of the target.
        special: the draft model's id for each special token of the target that it has, by the
            target's id: the token with the same name, else that with the same role.
        shared: the draft model's id of each shared token, by the target's id.
    """

    def __init__(self, draft: Lexicon, target: Lexicon) -> None:
        self.draft = draft
        self.target = target
        self.special: dict[int, int] = {}
        for name, token in target.special.items():
            if name in draft.special:
                self.special[token] = draft.special[name]
        for role, draft_token in draft.roles.items():
            if role in target.roles and draft_token not in self.special.values():
                self.special.setdefault(target.roles[role], draft_token)
        self.shared: dict[int, int] = {}
        for piece, token in target.by_bytes.items():
            if piece in draft.by_bytes:
                self.shared[token] = draft.by_bytes[piece]
        self.shared |= self.special

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        """Return tokens of the draft model for tokens of the target, without the special tokens
        that the draft model does not have.
        """
        ids: list[int] = []
        data = b""
        for token in tokens:
            piece = self.target.pieces[token]
            if piece is not None:
                data += piece
            elif token in self.special:
                ids += self.draft.encode(data)
                ids.append(self.special[token])
                data = b""
        return ids + self.draft.encode(data)

    def to_target(self, text: Sequence[int], data: bytes) -> list[int]:
        """Return the target's tokens that spell the whole characters of ``data``, as a continuation
        of the tokens ``text``.
        """
        tail = self._tail(text)
        decoder = getincrementaldecoder("utf-8")("replace")
        decoder.decode(tail + data)
        unfinished = len(decoder.getstate()[0])
        data = data[: max(0, len(data) - unfinished)]
        ids = self.target.encode(tail + data)
        ends = [0, *accumulate(len(self.target.pieces[token] or b"") for token in ids[:-1])]
        if len(tail) in ends:
            return ids[ends.index(len(tail)) :]
        # A token that covers the end of the text and the start of the draft cannot be proposed,
        # because the text is fixed.
        return self.target.encode(data)

    def _tail(self, text: Sequence[int]) -> bytes:
        """Return the bytes at the end of a text, after its last special token."""
        tail = b""
        for token in reversed(text[-_CONTEXT:]):
            piece = self.target.pieces[token]
            if piece is None:
                break
            tail = piece + tail
        return tail
