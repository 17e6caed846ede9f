"""The forms of a logged request: prompt and answer of an entry, as text or token ids.

Accepted: ``prompt`` or ``prompt_ids`` and ``output`` or ``output_ids``; OpenAI chat logs with
``messages`` (every answer of the assistant is a request), or ``request`` and ``response``
(``messages`` or ``prompt``, and ``choices``, or the ``output_ids`` of SGLang); ShareGPT's
``conversations`` of ``from`` and ``value``. Messages become paragraphs. Where a response reports
each of its verifications, the answer has them. An answer is what the engine decoded: reasoning,
text and the arguments of tool calls, in this order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from hsd_viz.errors import UserError
from hsd_viz.records.fields import typed
from hsd_viz.records.responses import response_of
from hsd_viz.records.sample import RecordedVerification

_ASSISTANT = ("assistant", "gpt", "model")
_FORMS = "prompt and output, messages, conversations, or request and response"
#: Where requests and responses have the token ids of the prompt.
PROMPT_IDS = ("prompt_ids", "prompt_token_ids", "input_ids")


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """The answer of a model.

    Attributes:
        content: the text or the token ids.
        parts: the kinds of parts: ``text``, ``reasoning``, ``tool calls``.
        served: whether the response has figures of speculative decoding.
        rounds: the verifications, if the response reports each of them.
    """

    content: str | Sequence[int]
    parts: tuple[str, ...] = ("text",)
    served: bool = False
    rounds: tuple[RecordedVerification, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedExchange:
    """A prompt and the answer of a model.

    Attributes:
        prompt: the text or the token ids.
        answer: the answer.
    """

    prompt: str | Sequence[int]
    answer: LoggedAnswer


def exchanges(entry: Any) -> list[LoggedExchange]:
    """Return the exchanges of an entry of a log.

    Raises:
        UserError: if the entry has none of the accepted forms.
    """
    if not isinstance(entry, Mapping):
        raise UserError(f"a request must be a JSON object with {_FORMS}")
    if entry.get("error"):
        raise UserError("a failed request")
    if isinstance(entry.get("response"), Mapping):
        return [_of_response(entry, _body_of(entry["response"]))]
    if "meta_info" in entry or "choices" in entry:
        return [_of_response(entry, entry)]
    if "messages" in entry or "conversations" in entry:
        return _of_conversation(entry)
    return [LoggedExchange(_given(entry, "prompt"), LoggedAnswer(_given(entry, "output")))]


def _body_of(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a response without the envelope of a batch API."""
    body = response.get("body")
    return body if isinstance(body, Mapping) else response


def _given(entry: Mapping[str, Any], name: str) -> str | list[int]:
    """Return the token ids of an entry if it has them, else the text."""
    value = entry.get(f"{name}_ids") or entry.get(name)
    if isinstance(value, list):
        return _token_ids(value, name)
    if not isinstance(value, str):
        raise UserError(f"no {name}: expected {_FORMS}")
    return value


def _token_ids(values: Any, name: str) -> list[int]:
    if not isinstance(values, list) or any(type(token) is not int for token in values):
        raise UserError(f"{name} must be a text or a list of token ids")
    return values


# --- requests with their responses --------------------------------------------------------------


class _Choice(msgspec.Struct):
    """A choice of a response.

    Attributes:
        text: the text of a completion.
        message: the message of a chat.
        token_ids: the token ids of the answer.
    """

    text: str | None = None
    message: _Message | None = None
    token_ids: list[int] | None = None


class _Response(msgspec.Struct):
    """A response.

    Attributes:
        choices: the choices, of which the first is used.
        output_ids: the token ids, in responses of SGLang.
        text: the text, in responses of SGLang.
    """

    choices: list[_Choice] | None = None
    output_ids: list[int] | None = None
    text: str | None = None


def _of_response(entry: Mapping[str, Any], body: Mapping[str, Any]) -> LoggedExchange:
    """Return the exchange of a response.

    Args:
        entry: the entry, which also contains the request.
        body: the response.
    """
    return LoggedExchange(_prompt_of(entry, body), _answer_of(body))


def _prompt_of(entry: Mapping[str, Any], body: Mapping[str, Any]) -> str | list[int]:
    nested = entry.get("request")
    request = nested if isinstance(nested, Mapping) else entry
    if "messages" in request:
        return _paragraphs(_conversation(request))
    for place in (request, body):
        for name in PROMPT_IDS:
            if place.get(name):
                return _token_ids(place[name], name)
    if request is not entry and isinstance(request.get("text"), str):
        return request["text"]
    return _given(request, "prompt")


def _answer_of(body: Mapping[str, Any]) -> LoggedAnswer:
    """Return the answer of a response, with its verifications.

    Raises:
        UserError: if it is empty.
    """
    response = typed(body, _Response)
    if response.choices:
        answer = _answer_of_choice(response.choices[0])
        ids = response.choices[0].token_ids
    else:
        answer = LoggedAnswer(response.text or "")
        ids = response.output_ids
    if ids:
        answer = replace(answer, content=ids)
    if not answer.content:
        raise UserError("the response has no text")
    sample = None
    if response.choices is None or len(response.choices) <= 1:
        sample = response_of(body)
    rounds = sample.verifications if sample is not None else ()
    return replace(answer, served=sample is not None, rounds=rounds)


def _answer_of_choice(choice: _Choice) -> LoggedAnswer:
    """Return the answer of a choice of a response.

    Raises:
        UserError: if it is empty.
    """
    if choice.text is not None:
        answer = LoggedAnswer(choice.text)
    else:
        answer = (choice.message or _Message()).answer()
    if not answer.content:
        raise UserError("the response has no text")
    return answer


# --- conversations ------------------------------------------------------------------------------


class _Function(msgspec.Struct):
    """A function that a model calls.

    Attributes:
        name: the name of the function.
        arguments: the arguments, as JSON text or as an object.
    """

    name: str | None = None
    arguments: Any = None

    def line(self) -> str:
        """Return the call in the form in which models write it: a JSON object.

        Raises:
            UserError: if the arguments are nested too deeply.
        """
        arguments = self.arguments
        if not isinstance(arguments, str):
            try:
                arguments = json.dumps(arguments or {}, ensure_ascii=False)
            except RecursionError:
                raise UserError("a tool call is nested too deeply") from None
        return f'{{"name": "{self.name or ""}", "arguments": {arguments}}}'


class _ToolCall(_Function):
    """A tool call: a function, or the fields of one.

    Attributes:
        function: the function.
    """

    function: _Function | None = None

    def line(self) -> str:
        """Return the call as models write it: a JSON object."""
        return super().line() if self.function is None else self.function.line()


class _Message(msgspec.Struct):
    """A message of a conversation. Fields that may be of any type are checked where they are read.

    Attributes:
        role: the role of the writer.
        sender: the role, in ShareGPT.
        content: the text, or a list of parts, of which the texts are used.
        value: the text, in ShareGPT.
        reasoning_content: the reasoning, in one of its fields.
        reasoning: the reasoning, in another field.
        thinking: the reasoning, in a third field.
        tool_calls: the tool calls.
        function_call: the function call, in older versions.
    """

    role: str | None = None
    sender: str | None = msgspec.field(name="from", default=None)
    content: Any = msgspec.UNSET
    value: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    thinking: Any = None
    tool_calls: list[_ToolCall] | None = None
    function_call: _Function | None = None

    def answer(self) -> LoggedAnswer:
        """Return the contents of the message: reasoning, text, and tool calls.

        Raises:
            UserError: if its content is not text.
        """
        pieces = {
            "reasoning": self._reasoning(),
            "text": self._text(),
            "tool calls": self._tool_calls(),
        }
        texts = [text for text in pieces.values() if text]
        parts = tuple(name for name, text in pieces.items() if text)
        return LoggedAnswer("\n\n".join(texts), parts)

    def _reasoning(self) -> str:
        for text in (self.reasoning_content, self.reasoning, self.thinking):
            if isinstance(text, str) and text:
                return text
        return ""

    def _text(self) -> str:
        content = self.value if self.content is msgspec.UNSET else self.content
        if isinstance(content, list):
            content = "".join(map(_text_of_part, content))
        if not isinstance(content, str | None):
            raise UserError("the content of a message must be text")
        return content or ""

    def _tool_calls(self) -> str:
        """Return the names and arguments of tool calls, one per line."""
        calls: Sequence[_Function] = self.tool_calls or ()
        if not calls and self.function_call is not None:
            calls = [self.function_call]
        return "\n".join(call.line() for call in calls)


def _text_of_part(part: Any) -> str:
    """Return the text of a part of a content; "" for an image."""
    text = part.get("text") if isinstance(part, Mapping) else part
    if not isinstance(text, str | None):
        raise UserError("the content of a message must be text")
    return text or ""


class _Conversation(msgspec.Struct):
    """A conversation.

    Attributes:
        messages: the messages.
        conversations: the messages, in ShareGPT.
    """

    messages: list[_Message] | None = None
    conversations: list[_Message] | None = None


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message of a conversation.

    Attributes:
        role: the role of the writer.
        answer: the contents of the message.
    """

    role: str
    answer: LoggedAnswer


def _conversation(entry: Mapping[str, Any]) -> list[_Turn]:
    """Return the turns of a conversation.

    Raises:
        UserError: if it is damaged.
    """
    conversation = typed(entry, _Conversation)
    messages = conversation.messages or conversation.conversations or []
    return [_Turn(message.role or message.sender or "", message.answer()) for message in messages]


def _of_conversation(entry: Mapping[str, Any]) -> list[LoggedExchange]:
    """Return an exchange per answer of the assistant.

    Raises:
        UserError: if there is none after a message.
    """
    turns = _conversation(entry)
    answered = []
    for k, turn in enumerate(turns):
        if k and turn.role in _ASSISTANT and turn.answer.content:
            answered.append(LoggedExchange(_paragraphs(turns[:k]), turn.answer))
    if not answered:
        raise UserError("no answer of the assistant after a message")
    return answered


def _paragraphs(turns: Sequence[_Turn]) -> str:
    return "".join(f"{turn.answer.content}\n\n" for turn in turns)
