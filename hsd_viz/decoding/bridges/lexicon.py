"""The vocabulary of a tokenizer as bytes."""

from __future__ import annotations

from hsd_viz.decoding.text import TokenText


class Lexicon:
    """The bytes of the first ``size`` tokens of a tokenizer, and the tokens that spell bytes.

    Attributes:
        size: the number of tokens.
        pieces: the bytes of each token; ``None`` for special tokens and unused ids.
        by_bytes: the token with each sequence of bytes; if several have the same, the first.
        special: the ids of the special tokens by name.
        roles: the ids of the tokens that begin (``bos``) and end (``eos``) a text, if defined.
        start: the tokens that the tokenizer adds before a text.
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
        """Return tokens that spell ``data``.

        The tokenizer encodes it. By longest match are encoded the bytes from an invalid UTF-8
        sequence on, and data that the tokenizer's own tokens do not spell. Bytes without a token
        are left out.
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
        """Encode by the longest matching token, from the left; skip bytes that begin no token."""
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
