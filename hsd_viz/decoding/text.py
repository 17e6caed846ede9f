"""Convert text to tokens and back, for any bytes."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from hsd_viz.decoding.conversation import check_conversation, check_unicode, roles_of
from hsd_viz.errors import PromptError, UserError, first_line, no_panics

#: Text, token ids, or a conversation.
Prompt = str | Sequence[int] | Sequence[Mapping[str, str]]

_BYTE_FALLBACK = re.compile(r"<0x([0-9A-F]{2})>\Z")


_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_NOT_PRINTABLE = [b for b in range(256) if b not in _PRINTABLE]
#: GPT-2's alphabet: the byte of each printable character that encodes it in a byte-level
#: vocabulary.
BYTES = {
    **{chr(b): b for b in _PRINTABLE},
    **{chr(256 + k): b for k, b in enumerate(_NOT_PRINTABLE)},
}


class Tokenizer(Protocol):
    """The part of a tokenizer's interface that decoding uses.

    Both ``PreTrainedTokenizerFast`` and the tokenizer of the shipped models implement it.
    """

    bos_token_id: int | None
    eos_token_id: int | None
    all_special_ids: list[int]

    def encode(
        self, text: str, add_special_tokens: bool = True, verbose: bool = False
    ) -> list[int]: ...

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str: ...

    def get_vocab(self) -> dict[str, int]: ...

    def convert_ids_to_tokens(self, ids: int) -> Any: ...


class TokenText:
    """Convert between text and the tokens of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._special = set(tokenizer.all_special_ids)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._token = (
            backend.id_to_token if backend is not None else tokenizer.convert_ids_to_tokens
        )
        self._byte_level = "ByteLevel" in str(getattr(backend, "decoder", ""))
        self._pieces: dict[int, tuple[str, str | None]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, with the special tokens that the tokenizer adds."""
        # verbose=False: no warning about the length, because the engine checks the context.
        return self.tokenizer.encode(text, verbose=False)

    def _encode_chat(self, conversation: list[dict[str, str]]) -> list[int]:
        """Return the token ids of a conversation, rendered by the tokenizer's chat template.

        The template writes special tokens as text. They are encoded as those tokens, and no further
        special tokens are added.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise UserError(
                "this model's tokenizer has no chat template: give the prompt as it should be read"
            )
        tokenizer = cast("Any", self.tokenizer)
        try:
            text = tokenizer.apply_chat_template(
                conversation, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # a template is a program and may raise anything
            roles = roles_of(conversation)
            raise UserError(
                "the chat template of this model's tokenizer does not take a conversation of "
                f"{roles}: {first_line(error)}"
            ) from None
        with no_panics("the tokenizer does not take this prompt", PromptError):
            return self.tokenizer.encode(text, add_special_tokens=False, verbose=False)

    def read(self, prompt: Prompt, chat: bool = False) -> list[int]:
        """Return the token ids of a prompt.

        Args:
            prompt: text or a list of token ids. With ``chat``, text that is passed as a user turn,
                or a conversation: a list of messages with ``role`` and ``content``.
            chat: whether to apply the chat template.

        Raises:
            PromptError: if the prompt has another type, is not valid Unicode, or is empty and the
                tokenizer has no token to start a text with.
        """
        if chat and isinstance(prompt, list | tuple):
            return self._encode_chat(check_conversation(prompt))
        if isinstance(prompt, list | tuple) and prompt:
            if all(type(token) is int and 0 <= token < self.size for token in prompt):
                return list(prompt)
            raise PromptError(
                "the prompt is not a list of token ids: they are whole "
                f"numbers from 0 to {self.size - 1}"
            )
        if not isinstance(prompt, str):
            raise PromptError(
                f"the prompt is text or, without chat, a list of token ids, not {prompt!r:.40}"
            )
        check_unicode(prompt)
        if chat:
            return self._encode_chat([{"role": "user", "content": prompt}])
        starts = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        with no_panics("the tokenizer does not take this prompt", PromptError):
            ids = self.encode(prompt)
        if tokens := ids or [start for start in starts if start is not None][:1]:
            return tokens
        raise PromptError(
            "the prompt is empty and the tokenizer has no token "
            "to start a text with: write a prompt"
        )

    @functools.cached_property
    def size(self) -> int:
        """The number of token ids: the highest id plus one."""
        return max(self.tokenizer.get_vocab().values(), default=-1) + 1

    def piece(self, token_id: int) -> tuple[str, str | None]:
        """Return the text of a token, and its bytes in hexadecimal.

        The second is ``None`` if the bytes are whole characters.
        """
        if token_id not in self._pieces:
            raw = self._bytes(token_id)
            text = raw.decode(errors="backslashreplace")
            self._pieces[token_id] = text, None if text.encode() == raw else raw.hex()
        return self._pieces[token_id]

    def content(self, token_id: int) -> bytes | None:
        """Return the bytes of a token; ``None`` for a special token or an unused id."""
        return (
            None
            if token_id in self._special or self._token(token_id) is None
            else self._bytes(token_id)
        )

    def pieces(self, token_ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each token, by token id."""
        return {t: self.piece(t)[0] for t in token_ids}

    def _bytes(self, token_id: int) -> bytes:
        token = self._token(token_id)
        if token is None:  # embeddings padded beyond the vocabulary
            return f"<{token_id}>".encode()
        if token_id in self._special:
            return token.encode()
        if self._byte_level:
            return b"".join(bytes([BYTES[c]]) if c in BYTES else c.encode() for c in token)
        if fallback := _BYTE_FALLBACK.match(token):
            return bytes([int(fallback[1], 16)])
        return token.replace("\u2581", " ").encode()


def differing_tokens(first: Tokenizer, second: Tokenizer) -> str | None:
    """Return a description of how two vocabularies differ; ``None`` if they are equal."""
    first_ids = first.get_vocab()
    second_ids = second.get_vocab()
    if first_ids == second_ids:
        return None
    if len(first_ids) != len(second_ids):
        return f"their vocabularies have {len(first_ids)} and {len(second_ids)} tokens"
    for token, i in sorted(first_ids.items(), key=lambda item: item[1]):
        if second_ids.get(token) != i:
            other = second_ids.get(token, "missing")
            return f"token {token!r} is number {i} in one and {other} in the other"
    return None
