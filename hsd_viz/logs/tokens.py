"""The requests of a log as token ids: tokenization, and signs of a wrong tokenizer."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hsd_viz.bench.replay import Text
from hsd_viz.drafting.make import vocabulary_hash
from hsd_viz.ladder.load import names, weights_dir
from hsd_viz.logs.records import Message, Request
from hsd_viz.words import first_line

#: Most tokens of a request that are used: the end of the prompt, then the start of the output.
MOST_TOKENS = 32_768
#: Token ids without a tokenizer: what a database can store.
MOST_IDS = 0x110000
#: No output ends before this limit.
_NO_LIMIT = 2**31


@dataclass(frozen=True, slots=True)
class TokenizedRequest:
    """A request as token ids. ``cut``: tokens that exceed the limit; ``agrees``: whether ids and text of the output
    match (``None``: only one of them is given).
    """

    request: Request
    text: Text
    limit: int
    cut: int = 0
    agrees: bool | None = None


class LogTokenizer:
    """A tokenizer by name: ``None`` (ids only), a ``tokenizer.json`` or its folder, a ladder name or a hub id. Raises:
    ValueError: if there is no such tokenizer. ModuleNotFoundError: if the tokenizers library is missing.
    """

    def __init__(self, name: str | Path | None = None, eos: int | None = None) -> None:
        self.name = None if name is None else str(name)
        self._encode: Any = None
        self.vocabulary: dict[str, int] = {}
        if self.name is not None:
            eos = self._load(self.name, eos)
        self.eos = frozenset() if eos is None else frozenset((eos,))
        self.size = max(self.vocabulary.values(), default=MOST_IDS - 1) + 1
        self.hash = vocabulary_hash(self.vocabulary) if self.vocabulary else None

    def _load(self, name: str, eos: int | None) -> int | None:
        """Load a tokenizer, and return the id that ends a text: ``eos`` if given, else the tokenizer's."""
        path = weights_dir() / name if name in names() else Path(name).expanduser()
        self._file, settings = path / "tokenizer.json" if path.is_dir() else path, {}
        if self._file.is_file():
            from tokenizers import Tokenizer  # transformers would take seconds to import

            try:
                self._encode = Tokenizer.from_file(str(self._file))
            except Exception as error:  # the library raises its own type for every fault
                raise ValueError(f"the tokenizer '{name}' cannot be loaded: {first_line(error)}") from None
            with suppress(OSError, ValueError):
                settings = json.loads(self._file.with_name("tokenizer_config.json").read_text(encoding="utf-8"))
        else:
            self._encode = self._whole.backend_tokenizer
            settings = {"eos_token": self._whole.eos_token, "chat_template": self._whole.chat_template}
        self.vocabulary = self._encode.get_vocab(with_added_tokens=True)
        settings = settings if isinstance(settings, dict) else {}
        self._template = bool(settings.get("chat_template")) or self._file.with_name("chat_template.jinja").exists()
        end = settings.get("eos_token")
        return (
            self.vocabulary.get(end.get("content", "") if isinstance(end, dict) else end or "") if eos is None else eos
        )

    @cached_property
    def _whole(self) -> Any:
        """The tokenizer of transformers, which has the chat template."""
        from hsd_viz.engine.databases import find_tokenizer

        return find_tokenizer(str(self._file.parent) if self._file.is_file() else str(self.name))

    def tokenize(self, request: Request) -> TokenizedRequest:
        """Return a request as token ids, which come before text where a request has both. Raises: ValueError: if an id
        is outside the vocabulary, a text is not valid Unicode or needs a tokenizer, or the output is empty.
        """
        prompt = self._ids(request.prompt_ids, request.prompt, "prompt")
        output = self._ids(request.output_ids, request.output, "output")
        if not output:
            raise ValueError("the output is empty")
        agrees = None
        if request.output_ids is not None and request.output and self._encode is not None:
            # Special tokens and surrounding blanks are often removed from the text.
            agrees = self._encode.decode(output).strip() == request.output.strip()
        cut = max(0, len(prompt) + len(output) - MOST_TOKENS)
        output = output[:MOST_TOKENS]
        prompt = prompt[max(0, len(prompt) + len(output) - MOST_TOKENS) :]
        limit = _NO_LIMIT if output[-1] in self.eos else len(output)
        text = Text(request.category, tuple(prompt), tuple(output))
        return TokenizedRequest(request, text, max(request.limit or limit, len(output)), cut, agrees)

    def _ids(self, ids: Sequence[int] | None, text: str | tuple[Message, ...] | None, what: str) -> Sequence[int]:
        if ids is not None:
            wrong = next((token for token in ids if not 0 <= token < self.size), None)
            if wrong is not None:
                raise ValueError(f"{what}: token id {wrong} is outside the vocabulary of {self.size}")
            return ids
        if self._encode is None:
            raise ValueError(f"the {what} is text: give the tokenizer of its model")
        try:
            return self.tokenize_text(text if isinstance(text, str) else self._written(text or ()))
        except (UnicodeEncodeError, TypeError):
            raise ValueError(f"the {what} is not valid Unicode") from None

    def tokenize_text(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens around it."""
        return self._encode.encode(text, add_special_tokens=False).ids

    def _written(self, messages: tuple[Message, ...]) -> str:
        """Return messages as a prompt: by the tokenizer's own chat template, else as paragraphs."""
        if not self._template:
            return "".join(f"{text}\n\n" for _, text in messages)
        rows = [{"role": role, "content": text} for role, text in messages]
        try:
            return self._whole.apply_chat_template(rows, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template is a program and may raise anything
            raise ValueError(f"the chat template rejects the messages: {first_line(error)}") from None
