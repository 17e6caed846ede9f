"""Byte-level BPE tokenizers that need only the package ``tokenizers``, because importing
transformers takes seconds.

A tokenizer is read from the files of a folder (``tokenizer.json`` and the files beside it), or from
the metadata of a GGUF file (:mod:`hsd_viz.models.gguf_tokenizer`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.disk import MAX_JSON, read_object, read_text
from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.chat import render
from hsd_viz.models.tokenizer_file import open_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """The facts in a tokenizer's files that are not about the splitting of texts.

    Attributes:
        bos_token: the token that begins a text; ``None`` if there is none.
        eos_token: the token that ends a text; ``None`` if there is none.
        special: the ids of the special tokens.
        chat_template: the template of conversations in Jinja; ``None`` if there is none.
    """

    bos_token: str | None = None
    eos_token: str | None = None
    special: Sequence[int] = field(default_factory=tuple)
    chat_template: str | None = None


class FileTokenizer:
    """A byte-level BPE tokenizer with the methods of ``PreTrainedTokenizerFast`` that decoding
    needs.

    Attributes:
        backend_tokenizer: the tokenizer of the package ``tokenizers``, without padding and
            truncation.
        bos_token: the token that begins a text; ``None`` if there is none.
        eos_token: the token that ends a text; ``None`` if there is none.
        bos_token_id: the id of ``bos_token``.
        eos_token_id: the id of ``eos_token``.
        all_special_ids: the ids of the special tokens.
        chat_template: the template of conversations in Jinja; ``None`` if there is none.
    """

    def __init__(self, backend: Tokenizer, facts: TokenizerFacts) -> None:
        self.backend_tokenizer = backend
        self.bos_token = facts.bos_token
        self.eos_token = facts.eos_token
        self.bos_token_id = self._number(facts.bos_token)
        self.eos_token_id = self._number(facts.eos_token)
        self.all_special_ids = list(facts.special)
        self.chat_template = facts.chat_template

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size(with_added_tokens=True)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return ``{"input_ids": token ids}``."""
        return {"input_ids": self.encode(text, add_special_tokens)}

    def encode(
        self, text: str, add_special_tokens: bool = True, verbose: bool = False
    ) -> list[int]:
        """Return the token ids of a text; ``verbose`` has no effect (as in transformers' API)."""
        return self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(
        self, token_ids: Sequence[int] | int, skip_special_tokens: bool = False, **_: Any
    ) -> str:
        """Return the text of tokens, by default including special tokens."""
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        return self.backend_tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        return self.backend_tokenizer.get_vocab(with_added_tokens=True)

    def convert_ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str | None] | None:
        """Return the token of an id, or the tokens of several ids."""
        if isinstance(ids, int):
            return self.backend_tokenizer.id_to_token(ids)
        return [self.backend_tokenizer.id_to_token(token) for token in ids]

    def apply_chat_template(
        self,
        conversation: Sequence[Mapping[str, str]],
        tokenize: bool = False,
        add_generation_prompt: bool = True,
    ) -> str:
        """Return the text of a conversation, rendered by the chat template.

        Raises:
            UserError: if the template raises an error.
        """
        assert self.chat_template is not None
        assert not tokenize
        return render(
            self.chat_template,
            conversation,
            bos_token=self.bos_token or "",
            eos_token=self.eos_token or "",
            add_generation_prompt=add_generation_prompt,
        )

    def _number(self, token: str | None) -> int | None:
        return None if token is None else self.backend_tokenizer.token_to_id(token)


def load_tokenizer(folder: str | Path) -> FileTokenizer:
    """Load the tokenizer in the files of a folder.

    Raises:
        Unsupported: if it is not a byte-level BPE.
        BadFile: if a file is missing or not valid.
    """
    folder = Path(folder)
    path = folder / FILE
    if not path.is_file():
        raise BadFile(f"{folder} contains no {FILE}")
    backend = open_tokenizer(path)
    if not _is_byte_level(backend):
        raise Unsupported(f"{path} is not a byte-level BPE tokenizer")
    has_config = (folder / CONFIG).is_file()
    config = read_object(folder / CONFIG, "tokenizer") if has_config else {}
    tokens = backend.get_added_tokens_decoder()
    special = [number for number, token in tokens.items() if token.special]
    facts = TokenizerFacts(
        bos_token=_token(config.get("bos_token")),
        eos_token=_token(config.get("eos_token")),
        special=special,
        chat_template=_template(folder, config),
    )
    return FileTokenizer(backend, facts)


def _is_byte_level(backend: Tokenizer) -> bool:
    """Return whether a tokenizer is a BPE whose tokens are bytes in GPT-2's alphabet."""
    is_bpe = type(backend.model).__name__ == "BPE"
    return is_bpe and "ByteLevel" in str(backend.decoder)


def _token(value: Any) -> str | None:
    """Return a token that is given as a text or as an object with ``content``."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    """Return the chat template of a folder, from its own file or from the configuration."""
    path = folder / TEMPLATE
    if path.is_file():
        return read_text(path, "template", MAX_JSON)
    template = config.get("chat_template")
    if isinstance(template, list):
        templates = {entry.get("name"): entry.get("template") for entry in template}
        template = templates.get("default")
    return template if isinstance(template, str) else None
