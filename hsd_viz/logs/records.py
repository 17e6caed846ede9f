"""Requests of a log as token ids, one at a time: JSON lines or one JSON array, plain or gzipped, of any size.

Accepted forms: ``prompt`` or ``prompt_ids`` and ``output`` or ``output_ids``, with an optional ``max_new_tokens``;
OpenAI chat logs with ``messages`` (every answer of the assistant is a request), or ``request`` and ``response``
(``messages`` or ``prompt``, and ``choices``); ShareGPT's ``conversations`` of ``from`` and ``value``. Messages become
paragraphs. An entry that cannot be used is a :class:`~hsd_viz.adapters.entries.BrokenEntry`, never an exception.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hsd_viz.adapters.entries import BrokenEntry, EntryReader
from hsd_viz.bench.replay import Text
from hsd_viz.disk import MOST_JSON, read_text
from hsd_viz.errors import UserError, no_panics
from hsd_viz.ladder.load import names, weights_dir
from hsd_viz.models.tokenizer_process import TokenizerProcess

#: Most tokens of a request that are used: the end of the prompt, then the start of the output.
MOST_TOKENS = 32_768
#: Token ids without a tokenizer: what a database can store. No output ends before the limit.
MOST_IDS, _NO_LIMIT = 0x110000, 2**31
_ASSISTANT = ("assistant", "gpt")
_FORMS = "prompt and output, messages, conversations, or request and response"


class LoggedRequest(NamedTuple):
    """A request: its token ids, its max new tokens (at least what was written), and whether tokens were cut off."""

    text: Text
    limit: int
    cut: bool


class LogTokenizer:
    """A tokenizer: ``None`` (ids only), a ``tokenizer.json`` or its folder, a ladder name or a hub id.

    Files work in a process of their own (:mod:`hsd_viz.models.tokenizer_process`), which
    :meth:`close` ends.
    """

    def __init__(self, name: str | Path | None = None) -> None:
        self.name = None if name is None else str(name)
        self._encoder: _Encoder | None = None
        self.vocabulary: dict[str, int] = {}
        end = ""
        if self.name is not None:
            self._encoder, end = _load(self.name)
            self.vocabulary = self._encoder.vocabulary
        self.eos = frozenset({self.vocabulary[end]} if end in self.vocabulary else ())
        self.size = max(self.vocabulary.values(), default=MOST_IDS - 1) + 1

    def close(self) -> None:
        """End the process of the tokenizer, if it has one."""
        if self._encoder is not None:
            self._encoder.close()

    def ids(self, value: str | Sequence[int], what: str = "text") -> Sequence[int]:
        """Return the token ids of a text (without special tokens around it) or of ids. Raises: ValueError."""
        if not isinstance(value, str):
            if wrong := [token for token in value if not 0 <= token < self.size]:
                raise UserError(
                    f"{what}: token id {wrong[0]} is outside the vocabulary of {self.size}"
                )
            return value
        if self._encoder is None:
            raise UserError(f"the {what} is text: give the tokenizer of its model")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UserError(f"the {what} is not valid Unicode") from None
        return self._encoder.encode(value)

    def request(
        self, prompt: str | Sequence[int], output: str | Sequence[int], limit: Any = None
    ) -> LoggedRequest:
        """Return a request as token ids. Raises: ValueError: as :meth:`ids`, and if the output is empty."""
        before, written = self.ids(prompt, "prompt"), self.ids(output, "output")
        if not written:
            raise UserError("the output is empty")
        excess, written = len(before) + len(written) - MOST_TOKENS, written[:MOST_TOKENS]
        before = before[max(0, len(before) + len(written) - MOST_TOKENS) :]
        least = _NO_LIMIT if written[-1] in self.eos else 0
        most = limit if type(limit) is int and limit > 0 else least
        return LoggedRequest(
            Text("", tuple(before), tuple(written)), max(most, len(written)), excess > 0
        )


class _Encoder(Protocol):
    """What a log needs of a tokenizer."""

    vocabulary: dict[str, int]

    def encode(self, text: str) -> list[int]: ...

    def close(self) -> None: ...


class _OwnEncoder:
    """A tokenizer of this project or of a model, in this process."""

    def __init__(self, backend: Any) -> None:
        backend.no_padding()
        backend.no_truncation()
        self._backend = backend
        self.vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text. Raises: BadFile: if the tokenizer does not take it."""
        with no_panics("the tokenizer does not take this text"):
            return self._backend.encode(text, add_special_tokens=False).ids

    def close(self) -> None:
        """There is no process to end."""


def _load(name: str) -> tuple[_Encoder, str]:
    """Return a tokenizer and the token that ends a text."""
    if name in names():
        from tokenizers import Tokenizer

        file = weights_dir() / name / "tokenizer.json"
        encoder: _Encoder = _OwnEncoder(Tokenizer.from_file(str(file)))
        return encoder, _end_token(file)
    path = Path(name).expanduser()
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.is_file():
        return TokenizerProcess(file), _end_token(file)
    from hsd_viz.engine.databases import find_tokenizer

    whole = find_tokenizer(name)
    return _OwnEncoder(whole.backend_tokenizer), whole.eos_token or ""


def _end_token(file: Path) -> str:
    """Return the token that ends a text, from the configuration beside a tokenizer; "" without."""
    try:
        config = json.loads(
            read_text(file.with_name("tokenizer_config.json"), "tokenizer", MOST_JSON)
        )
        end = config.get("eos_token")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return str(end.get("content") if isinstance(end, dict) else end)


def requests(reader: EntryReader, tokenizer: LogTokenizer) -> Iterator[LoggedRequest | BrokenEntry]:
    """Yield the requests and the broken entries of a log."""
    number = 0
    try:
        for number, entry in reader.entries():
            if isinstance(entry, BrokenEntry):
                yield entry
                continue
            try:
                for prompt, output in _exchanges(entry):
                    yield tokenizer.request(prompt, output, entry.get("max_new_tokens"))
            except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
                why = (
                    str(error)
                    if isinstance(error, UserError)
                    else f"unexpected form ({type(error).__name__})"
                )
                yield BrokenEntry(number, why)
    except (OSError, EOFError) as error:
        yield BrokenEntry(number + 1, f"the file cannot be read further: {error}")


def _exchanges(entry: Any) -> Iterator[tuple[Any, Any]]:
    """Yield prompt and output of the requests of an entry, as text or ids. Raises: ValueError: if it has no form."""
    if not isinstance(entry, Mapping):
        raise UserError(f"a request must be a JSON object with {_FORMS}")
    if entry.get("error"):
        raise UserError("a failed request")
    if isinstance(body := entry.get("response"), Mapping):
        asked = entry.get("request", entry)
        prompt = (
            _paragraphs(_messages(asked["messages"]))
            if "messages" in asked
            else _given(asked, "prompt")
        )
        choice = body.get("body", body)["choices"][0]
        text = (
            choice.get("text") if "text" in choice else (choice.get("message") or {}).get("content")
        )
        if not isinstance(text, str) or not text:
            raise UserError("the response has no text")
        yield prompt, text
    elif "messages" in entry or "conversations" in entry:
        messages = _messages(entry.get("messages") or entry["conversations"])
        answers = [
            k for k, (role, text) in enumerate(messages) if role in _ASSISTANT and k and text
        ]
        if not answers:
            raise UserError("no answer of the assistant after a message")
        for k in answers:
            yield _paragraphs(messages[:k]), messages[k][1]
    else:
        yield _given(entry, "prompt"), _given(entry, "output")


def _given(entry: Mapping, name: str) -> str | list[int]:
    """Return a text or the token ids of an entry; ids come first."""
    value = entry.get(f"{name}_ids") or entry.get(name)
    if isinstance(value, list) and any(type(token) is not int for token in value):
        raise UserError(f"{name} must be a text or a list of token ids")
    if not isinstance(value, str | list):
        raise UserError(f"no {name}: expected {_FORMS}")
    return value


def _messages(rows: Any) -> list[tuple[str, str]]:
    """Return roles and texts."""
    found = []
    for row in rows:
        content = row["content"] if "content" in row else row.get("value")
        if isinstance(content, list):  # parts: the text ones count
            content = "".join(part.get("text") or "" for part in content)
        if not isinstance(content, str | None):
            raise UserError("the content of a message must be text")
        found.append((str(row.get("role") or row.get("from")), content or ""))
    return found


def _paragraphs(messages: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{text}\n\n" for _, text in messages)
