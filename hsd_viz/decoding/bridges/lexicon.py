"""The tokens of a tokenizer as bytes."""

from __future__ import annotations

from hsd_viz.decoding.text import TokenText


class Lexicon:
    """The first ``size`` tokens of a tokenizer as bytes, and bytes as tokens.

    Attributes:
        size: how many tokens there are.
        pieces: the bytes of each token; ``None`` for special tokens and unused ids.
        by_bytes: the token of each sequence of bytes; of several, the first.
        special: the special tokens by name.
        roles: the tokens that begin (``bos``) and end (``eos``) a text, where there are any.
        start: the tokens that the tokenizer itself puts before a text.
    """

    def __init__(self, text: TokenText, size: int) -> None:
        self.size = size
        self.pieces: list[bytes | None] = [text.content(token) for token in range(size)]
        self.by_bytes: dict[bytes, int] = {}
        for token, piece in enumerate(self.pieces):
            if piece:
                self.by_bytes.setdefault(piece, token)
        self._longest = max(map(len, self.by_bytes), default=0)
        self._tokenizer = text.tokenizer
        self.special: dict[str, int] = {}
        for token in self._tokenizer.all_special_ids:
            if token < size:
                self.special[self._tokenizer.convert_ids_to_tokens(token)] = token
        self.roles: dict[str, int] = {}
        self._add_role("bos", self._tokenizer.bos_token_id)
        self._add_role("eos", self._tokenizer.eos_token_id)
        self.start: list[int] = []
        for token in text.encode(""):
            if token < size and token != self.roles.get("eos"):
                self.start.append(token)

    def _add_role(self, role: str, token: int | None) -> None:
        if token is not None and token < self.size:
            self.roles[role] = token

    def encode(self, data: bytes) -> list[int]:
        """Return tokens that spell ``data``: as the tokenizer cuts it, and by longest match where
        its tokens do not spell it and after a broken character. Bytes that no token spells are left
        out.
        """
        if not data:
            return []
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            before = self.encode(data[: error.start])
            return before + self._match(data[error.start :])
        ids = self._tokenizer.encode(text, add_special_tokens=False, verbose=False)
        pieces: list[bytes] = []
        for token in ids:
            piece = self.pieces[token] if token < self.size else None
            if piece is None:
                return self._match(data)
            pieces.append(piece)
        spelled = b"".join(pieces)
        if spelled == data:
            return ids
        if spelled == b" " + data:  # tokenizers that put a space before a text
            return self._match(pieces[0][1:]) + ids[1:]
        return self._match(data)

    def _match(self, data: bytes) -> list[int]:
        """Cut into the longest tokens there are, from the left; skip a byte that begins none."""
        tokens: list[int] = []
        start = 0
        while start < len(data):
            for end in range(min(len(data), start + self._longest), start, -1):
                token = self.by_bytes.get(data[start:end])
                if token is not None:
                    tokens.append(token)
                    start = end
                    break
            else:
                start += 1
        return tokens
