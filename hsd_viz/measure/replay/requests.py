"""Requests of a log as token ids, one at a time: JSON lines or one JSON array, of any size.

Accepted forms: ``prompt`` or ``prompt_ids`` and ``output`` or ``output_ids``, with an optional
``max_new_tokens`` and ``temperature``; OpenAI chat logs with ``messages`` (every answer of the
assistant is a request), or ``request`` and ``response`` (``messages`` or ``prompt``, and
``choices``, or the ``output_ids`` of SGLang); ShareGPT's ``conversations`` of ``from`` and
``value``. Messages become paragraphs. Where a response reports each of its verifications, the
request has them. An answer is what the engine decoded: reasoning, text and the arguments of tool
calls, in this order. An entry that cannot be used is a
:class:`~hsd_viz.records.entries.BrokenEntry`, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hsd_viz.disk import MOST_JSON, read_text
from hsd_viz.errors import CUT_SHORT, MALFORMED, UserError, no_panics
from hsd_viz.measure.replay.text_replay import Text
from hsd_viz.models.families import CODE, FAMILIES, find_family
from hsd_viz.models.files import GGUF, open_model
from hsd_viz.models.tokenizer_process import TokenizerProcess
from hsd_viz.records.entries import BrokenEntry, EntryReader
from hsd_viz.records.responses import response_of
from hsd_viz.records.sample import RecordedVerification

#: Most tokens of a request that are used: the end of the prompt, then the start of the output.
MOST_TOKENS = 32_768
#: Token ids without a tokenizer: what a database can store. No output ends before the limit.
MOST_IDS = 0x110000
_NO_LIMIT = 2**31
_ASSISTANT = ("assistant", "gpt", "model")
_FORMS = "prompt and output, messages, conversations, or request and response"
#: Where requests and responses have the token ids of the prompt.
PROMPT_IDS = ("prompt_ids", "prompt_token_ids", "input_ids")
#: Where messages have reasoning.
REASONING = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request.

    Attributes:
        text: prompt and output as token ids.
        limit: its max new tokens, at least what was written.
        cut: whether tokens were cut off.
        temperature: of its sampling, ``None`` if the log does not report it.
        encoded: whether the output was text, which was encoded again.
        parts: of what the output consists: ``text``, ``reasoning``, ``tool calls``.
        served: whether the response has figures of speculative decoding.
        rounds: its verifications, where the response reports each of them.
    """

    text: Text
    limit: int
    cut: bool
    temperature: float | None = None
    encoded: bool = False
    parts: tuple[str, ...] = ()
    served: bool = False
    rounds: tuple[RecordedVerification, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote.

    Attributes:
        content: text or token ids.
        parts: of what it consists.
        served: whether its response has figures of speculative decoding.
        rounds: its verifications, where its response reports each of them.
    """

    content: str | Sequence[int]
    parts: tuple[str, ...] = ("text",)
    served: bool = False
    rounds: tuple[RecordedVerification, ...] = ()


class LogTokenizer:
    """A tokenizer: ``None`` (ids only), a ``tokenizer.json`` or its folder, a GGUF file, a family,
    a model of the family ``code``, or a hub id.

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
        """Return the token ids of a text (without special tokens around it) or of ids.

        Raises:
            UserError: for an id outside the vocabulary, or text without a tokenizer.
        """
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
        self,
        prompt: str | Sequence[int],
        answer: Answer,
        limit: Any = None,
        temperature: float | None = None,
    ) -> LoggedRequest:
        """Return a request as token ids.

        Raises:
            UserError: as :meth:`ids`, and if the output is empty.
        """
        before = self.ids(prompt, "prompt")
        written = self.ids(answer.content, "output")
        if not written:
            raise UserError("the output is empty")
        excess = len(before) + len(written) - MOST_TOKENS
        written = written[:MOST_TOKENS]
        before = before[max(0, len(before) + len(written) - MOST_TOKENS) :]
        least = _NO_LIMIT if written[-1] in self.eos else 0
        most = limit if type(limit) is int and limit > 0 else least
        return LoggedRequest(
            text=Text("", tuple(before), tuple(written)),
            limit=max(most, len(written)),
            cut=excess > 0,
            temperature=temperature,
            encoded=isinstance(answer.content, str),
            parts=answer.parts,
            served=answer.served,
            rounds=() if excess > 0 else answer.rounds,
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
        """Return the token ids of a text.

        Raises:
            BadFile: if the tokenizer does not take it.
        """
        with no_panics("the tokenizer does not take this text"):
            return self._backend.encode(text, add_special_tokens=False).ids

    def close(self) -> None:
        """There is no process to end."""


def _load(name: str) -> tuple[_Encoder, str]:
    """Return a tokenizer and the token that ends a text."""
    if name in CODE.models:
        from tokenizers import Tokenizer

        file = CODE.path(name) / "tokenizer.json"
        encoder: _Encoder = _OwnEncoder(Tokenizer.from_file(str(file)))
        return encoder, _end_token(file)
    path = find_family(name).path("target") if name in FAMILIES else Path(name).expanduser()
    if path.suffix == GGUF and path.is_file():
        tokenizer = open_model(path).tokenizer()
        return _OwnEncoder(tokenizer.backend_tokenizer), tokenizer.eos_token or ""
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.is_file():
        return TokenizerProcess(file), _end_token(file)
    from hsd_viz.engine.databases import find_tokenizer

    tokenizer = find_tokenizer(name)
    return _OwnEncoder(tokenizer.backend_tokenizer), tokenizer.eos_token or ""


def _end_token(file: Path) -> str:
    """Return the token that ends a text, from the configuration beside a tokenizer; "" without."""
    try:
        config = json.loads(
            read_text(file.with_name("tokenizer_config.json"), "tokenizer", MOST_JSON)
        )
        end = config.get("eos_token")
    except MALFORMED:
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
                for prompt, answer in _exchanges(entry):
                    limit = entry.get("max_new_tokens")
                    yield tokenizer.request(prompt, answer, limit, _temperature(entry))
            except UserError as error:
                yield BrokenEntry(number, str(error))
            except MALFORMED as error:
                yield BrokenEntry(number, f"unexpected form ({type(error).__name__})")
    except CUT_SHORT as error:
        yield BrokenEntry(number + 1, f"the file cannot be read further: {error}")


def _temperature(entry: Mapping[str, Any]) -> float | None:
    """Return the temperature of an entry or of its request, ``None`` if it states none."""
    asked = entry.get("request")
    places = [entry, *([asked] if isinstance(asked, Mapping) else [])]
    for place in places:
        value = place.get("temperature")
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
            return float(value)
    return None


def _exchanges(entry: Any) -> Iterator[tuple[Any, Answer]]:
    """Yield prompt and answer of the requests of an entry.

    Raises:
        UserError: if it has no form.
    """
    if not isinstance(entry, Mapping):
        raise UserError(f"a request must be a JSON object with {_FORMS}")
    if entry.get("error"):
        raise UserError("a failed request")
    if isinstance(body := entry.get("response"), Mapping):
        yield _prompt_of(entry), _response(body.get("body", body))
    elif "meta_info" in entry or "choices" in entry:
        yield _prompt_of(entry), _response(entry)
    elif "messages" in entry or "conversations" in entry:
        messages = _messages(entry.get("messages") or entry["conversations"])
        has_answer = False
        for k, (role, answer) in enumerate(messages):
            if k and role in _ASSISTANT and answer.content:
                has_answer = True
                yield _paragraphs(messages[:k]), answer
        if not has_answer:
            raise UserError("no answer of the assistant after a message")
    else:
        yield _given(entry, "prompt"), Answer(_given(entry, "output"))


def _prompt_of(entry: Mapping[str, Any]) -> Any:
    asked = entry.get("request", entry)
    if "messages" in asked:
        return _paragraphs(_messages(asked["messages"]))
    body = entry.get("response", entry)
    for place in (asked, body.get("body", body)):
        for name in PROMPT_IDS:
            if place.get(name):
                return place[name]
    if "text" in asked and asked is not entry:
        return asked["text"]
    return _given(asked, "prompt")


def _response(body: Mapping[str, Any]) -> Answer:
    """Return the answer of a response, with its verifications.

    Raises:
        UserError: if it is empty.
    """
    choices = body.get("choices")
    if choices:
        answer = _choice(choices[0])
        ids = choices[0].get("token_ids")
    else:
        ids = body.get("output_ids")
        answer = Answer(body.get("text") or "")
    if ids:
        answer = replace(answer, content=ids)
    if not answer.content:
        raise UserError("the response has no text")
    sample = response_of(body) if len(choices or [0]) == 1 else None
    rounds = sample.verifications if sample is not None else ()
    return replace(answer, served=sample is not None, rounds=rounds)


def _choice(choice: Mapping[str, Any]) -> Answer:
    """Return the answer of a choice of a response.

    Raises:
        UserError: if it is empty.
    """
    answer = (
        Answer(text)
        if isinstance((text := choice.get("text")), str)
        else _answer(choice.get("message") or {})
    )
    if not answer.content:
        raise UserError("the response has no text")
    return answer


def _given(entry: Mapping[str, Any], name: str) -> str | list[int]:
    """Return a text or the token ids of an entry; ids come first."""
    value = entry.get(f"{name}_ids") or entry.get(name)
    if isinstance(value, list) and any(type(token) is not int for token in value):
        raise UserError(f"{name} must be a text or a list of token ids")
    if not isinstance(value, str | list):
        raise UserError(f"no {name}: expected {_FORMS}")
    return value


def _messages(rows: Any) -> list[tuple[str, Answer]]:
    """Return roles and what was written."""
    return [(str(row.get("role") or row.get("from")), _answer(row)) for row in rows]


def _answer(message: Mapping[str, Any]) -> Answer:
    """Return what a message contains: reasoning, text, and names and arguments of tool calls."""
    pieces = {
        "reasoning": _reasoning(message),
        "text": _content(message),
        "tool calls": _tool_calls(message),
    }
    texts = [text for text in pieces.values() if text]
    parts = tuple(name for name, text in pieces.items() if text)
    return Answer("\n\n".join(texts), parts)


def _content(message: Mapping[str, Any]) -> str:
    content = message["content"] if "content" in message else message.get("value")
    if isinstance(content, list):  # parts: the text ones count
        content = "".join(part.get("text") or "" for part in content)
    if not isinstance(content, str | None):
        raise UserError("the content of a message must be text")
    return content or ""


def _reasoning(message: Mapping[str, Any]) -> str:
    texts = [message.get(name) for name in REASONING]
    return next((text for text in texts if isinstance(text, str) and text), "")


def _tool_calls(message: Mapping[str, Any]) -> str:
    """Return names and arguments of tool calls, as models write them: one JSON object per line."""
    calls = message.get("tool_calls") or ()
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    lines = []
    for call in calls:
        function = call.get("function") or call
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        lines.append(f'{{"name": "{function.get("name") or ""}", "arguments": {arguments}}}')
    return "\n".join(lines)


def _paragraphs(messages: Sequence[tuple[str, Answer]]) -> str:
    return "".join(f"{answer.content}\n\n" for _, answer in messages)
