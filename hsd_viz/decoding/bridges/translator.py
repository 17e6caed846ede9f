"""Between the tokens of a draft model and those of the target, which are of two tokenizers."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from itertools import accumulate

from hsd_viz.decoding.bridges.lexicon import Lexicon

#: Tokens of the text before a draft that its cut takes into account.
_CONTEXT = 16


class Translator:
    """What the tokenizers of a draft model and of the target have in common.

    Attributes:
        draft: the tokens of the draft model.
        target: the tokens of the target.
        special: the special tokens of the target that the draft model has, too, the target's id to
            the draft's: of the same name, else of the same role.
        shared: all tokens that both have, the target's id to the draft's.
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
        """Return the draft's tokens for these tokens of the target; special tokens it does not have
        are left out.
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
        """Return the target's tokens that spell ``data``, whole characters of it, after the tokens
        of ``text``.
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
        # A token covers the end of the text and the start of the draft: the text is fixed, so it
        # cannot be proposed.
        return self.target.encode(data)

    def _tail(self, text: Sequence[int]) -> bytes:
        """Return the last bytes of a text, after its last special token."""
        tail = b""
        for token in reversed(text[-_CONTEXT:]):
            piece = self.target.pieces[token]
            if piece is None:
                break
            tail = piece + tail
        return tail
