"""Requests of a log as token ids, one at a time: JSON lines or one JSON array, plain or gzipped, of any size.

Accepted forms, recognized for each entry by its keys:

- **generic**: ``prompt`` and ``output`` as text or as token ids (:data:`PROMPTS`, :data:`OUTPUTS` list the names),
  with optional ``category`` and ``max_new_tokens``;
- **OpenAI chat logs**: ``messages`` (every answer of the assistant is a request), or ``request`` and ``response``
  objects (``messages`` or ``prompt``, and ``choices``);
- **ShareGPT**: ``conversations`` of ``from`` and ``value``.

Nothing in a log is executed, and an entry that cannot be used is a :class:`BrokenEntry`, never an exception.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hsd_viz.adapters.entries import BrokenEntry, EntryReader
from hsd_viz.bench.replay import Text
from hsd_viz.ladder.load import names, weights_dir
from hsd_viz.words import first_line

#: Characters of a category name.
MOST_NAME = 40
#: Most tokens of a request that are used: the end of the prompt, then the start of the output.
MOST_TOKENS = 32_768
#: Token ids without a tokenizer: what a database can store.
MOST_IDS = 0x110000
#: No output ends before this limit.
_NO_LIMIT = 2**31
PROMPTS = ("prompt", "prompt_ids", "prompt_token_ids", "input", "input_ids")
OUTPUTS = ("output", "output_ids", "output_token_ids", "token_ids", "completion", "response", "text")
_ASSISTANT = ("assistant", "gpt", "chatgpt", "bing", "bard", "model")
_ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}
_FORMS = "prompt and output, messages, conversations, or request and response"

#: A message: role and text.
Message = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a log. ``number`` is the line (or array element) it is from, from 1. ``prompt`` is a text,
    messages, or ``None`` if only ``prompt_ids`` are given; ``output`` likewise. ``limit`` is the request's max new
    tokens, where it is known. :meth:`LogTokenizer.tokenize` fills in the ids, ``cut`` (tokens beyond
    :data:`MOST_TOKENS`) and ``agrees`` (whether ids and text of the output match; ``None``: only one is given).
    """

    number: int
    prompt: str | tuple[Message, ...] | None
    output: str | None
    prompt_ids: tuple[int, ...] | None = None
    output_ids: tuple[int, ...] | None = None
    category: str = ""
    limit: int | None = None
    cut: int = 0
    agrees: bool | None = None

    @property
    def text(self) -> Text:
        """The token ids as they are replayed."""
        return Text(self.category, self.prompt_ids or (), self.output_ids or ())


def requests(reader: EntryReader) -> Iterator[Request | BrokenEntry]:
    """Yield the requests and the broken entries of a log."""
    number = 0
    try:
        for number, entry in reader.entries():
            if isinstance(entry, BrokenEntry):
                yield entry
                continue
            try:
                yield from requests_of(number, entry)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                why = str(error) if type(error) is ValueError else f"unexpected form ({type(error).__name__})"
                yield BrokenEntry(number, why)
    except (OSError, EOFError) as error:
        yield BrokenEntry(number + 1, f"the file cannot be read further: {error}")


def requests_of(number: int, entry: Any) -> Iterator[Request]:
    """Yield the requests of one entry. Raises: ValueError: if it has none of the forms."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"a request must be a JSON object with {_FORMS}")
    if entry.get("error"):
        raise ValueError("a failed request")
    category = str(entry.get("category") or (entry.get("metadata") or {}).get("category") or "")[:MOST_NAME]
    body = entry.get("response")
    if isinstance(body, Mapping) and isinstance(asked := entry.get("request", entry), Mapping):
        answer = answer_of(body.get("body", body))
        if "messages" in asked:
            yield Request(number, _messages(asked["messages"]), answer, category=category)
        else:
            prompt, ids = _text_or_ids(asked, PROMPTS, "prompt")
            yield Request(number, prompt, answer, ids, category=category)
    elif "messages" in entry or "conversations" in entry:
        messages = _messages(entry.get("messages") or entry["conversations"])
        answers = [k for k, (role, text) in enumerate(messages) if role == "assistant" and k and text]
        if not answers:
            raise ValueError("no answer of the assistant after a message")
        for k in answers:
            yield Request(number, messages[:k], messages[k][1], category=category)
    else:
        prompt, prompt_ids = _text_or_ids(entry, PROMPTS, "prompt")
        output, output_ids = _text_or_ids(entry, OUTPUTS, "output")
        limit = entry.get("max_new_tokens")
        limit = limit if type(limit) is int and limit > 0 else None
        yield Request(number, prompt, output, prompt_ids, output_ids, category, limit)


def _text_or_ids(entry: Mapping, names: Sequence[str], what: str) -> tuple[str | None, tuple[int, ...] | None]:
    """Return the text and the token ids among the values with these names."""
    text, ids = None, None
    for name in names:
        value = entry.get(name)
        if isinstance(value, str) and text is None:
            text = value
        elif isinstance(value, list) and value and ids is None:
            if any(type(token) is not int for token in value):
                raise ValueError(f"{name} must be a text or a list of token ids")
            ids = tuple(value)
    if text is None and ids is None:
        raise ValueError(f"no {what}: expected {_FORMS}")
    return text, ids


def _messages(rows: Any) -> tuple[Message, ...]:
    found = []
    for row in rows:
        role = str(row.get("role") or row.get("from") or "user")[:MOST_NAME]
        content = row["content"] if "content" in row else row.get("value")
        if isinstance(content, list):  # parts: the text ones count
            content = "".join(part.get("text") or "" for part in content)
        found.append(("assistant" if role in _ASSISTANT else _ROLES.get(role, role), content or ""))
        if not isinstance(found[-1][1], str):
            raise ValueError("the content of a message must be text")
    return tuple(found)


def answer_of(body: Mapping) -> str:
    """Return the text of a chat or text completion. Raises: ValueError: if there is none."""
    choice = body["choices"][0]
    text = choice.get("text") if "text" in choice else (choice.get("message") or {}).get("content")
    if not isinstance(text, str) or not text:
        raise ValueError("the response has no text")
    return text


# --- token ids --------------------------------------------------------------------------------------------------------


class LogTokenizer:
    """A tokenizer by name: ``None`` (ids only), a ``tokenizer.json`` or its folder, a ladder name or a hub id. Raises:
    ValueError: if there is no such tokenizer. ModuleNotFoundError: if the tokenizers library is missing.
    """

    def __init__(self, name: str | Path | None = None) -> None:
        self.name = None if name is None else str(name)
        self._encode: Any = None
        self.vocabulary: dict[str, int] = {}
        eos = None if self.name is None else self._load(self.name)
        self.eos = frozenset() if eos is None else frozenset((eos,))
        self.size = max(self.vocabulary.values(), default=MOST_IDS - 1) + 1

    def _load(self, name: str) -> int | None:
        """Load a tokenizer, and return the id that ends a text."""
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
        return self.vocabulary.get(end.get("content", "") if isinstance(end, dict) else end or "")

    @cached_property
    def _whole(self) -> Any:
        """The tokenizer of transformers, which has the chat template."""
        from hsd_viz.engine.databases import find_tokenizer

        return find_tokenizer(str(self._file.parent) if self._file.is_file() else str(self.name))

    def tokenize(self, request: Request) -> Request:
        """Return a request with its token ids, which come before text where a request has both. Raises: ValueError: if
        an id is outside the vocabulary, a text is not valid Unicode or needs a tokenizer, or the output is empty.
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
        limit = max(request.limit or (_NO_LIMIT if output[-1] in self.eos else 0), len(output))
        ids = {"prompt_ids": tuple(prompt), "output_ids": tuple(output)}
        return replace(request, **ids, limit=limit, cut=cut, agrees=agrees)

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
