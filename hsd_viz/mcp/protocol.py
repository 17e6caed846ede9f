"""A server of the Model Context Protocol over standard input and output: JSON-RPC with one message
per line.

It implements only the methods for tools: ``initialize``, ``ping``, ``tools/list`` and
``tools/call``.
Specification: https://modelcontextprotocol.io/specification/2025-06-18.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from hsd_viz.errors import INVALID_JSON, UserError, report_fault, visitor_message
from hsd_viz.settings.spelling import as_argument, spelling
from hsd_viz.version import __version__

#: Supported versions of the protocol, newest first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: Maximum length of a line in bytes.
MAX_LINE = 4 * 2**20
#: Error codes of JSON-RPC.
NOT_JSON = -32700
NOT_A_REQUEST = -32600
NO_METHOD = -32601
BAD_PARAMETERS = -32602

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool.

    Attributes:
        text: the answer as text.
        data: the answer as JSON data.
    """

    text: str
    data: Message


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: a named function whose arguments have a JSON schema.

    Attributes:
        name: the identifier.
        title: the display name.
        description: the description for the model that selects the tool.
        properties: the JSON schema of each argument, by name.
        required: the names of the required arguments.
        run: the function, called with keyword arguments.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, Message]
    required: Sequence[str]
    run: Callable[..., ToolAnswer]

    def declared(self) -> Message:
        """Return the declaration of the tool for clients."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": dict(self.properties),
                "required": list(self.required),
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }


class ProtocolError(Exception):
    """A message that is not a valid request.

    Attributes:
        code: the error code of JSON-RPC.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Server:
    """The server, which answers messages.

    Attributes:
        tools: the tools.
        instructions: the instructions on their use, for the model.
    """

    tools: Sequence[Tool]
    instructions: str

    def answer(self, line: str | bytes) -> Message | None:
        """Return the answer to a line; ``None`` for a notification, which has no answer."""
        identifier = None
        try:
            message = _parsed(line)
            identifier = message.get("id")
            if "method" not in message or "id" not in message:
                return None  # a notification, or an answer to a request that was never sent
            result = self._result(message["method"], message.get("params") or {})
        except ProtocolError as error:
            fault = {"code": error.code, "message": str(error)}
            return {"jsonrpc": "2.0", "id": identifier, "error": fault}
        return {"jsonrpc": "2.0", "id": identifier, "result": result}

    def _result(self, method: str, parameters: Message) -> Message:
        if not isinstance(parameters, dict):
            raise ProtocolError(BAD_PARAMETERS, "params is not an object")
        match method:
            case "initialize":
                return self._initialized(parameters)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.declared() for tool in self.tools]}
            case "tools/call":
                return self._called(parameters)
        raise ProtocolError(NO_METHOD, f"there is no method {method!r}")

    def _initialized(self, parameters: Message) -> Message:
        wanted = parameters.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "hsd-viz", "title": "hsd_viz", "version": __version__},
            "instructions": self.instructions,
        }

    def _called(self, parameters: Message) -> Message:
        tools = {tool.name: tool for tool in self.tools}
        tool = tools.get(str(parameters.get("name")))
        if tool is None:
            names = ", ".join(tools)
            wanted = parameters.get("name")
            raise ProtocolError(BAD_PARAMETERS, f"unknown tool {wanted!r}: it is one of {names}")
        arguments = parameters.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise ProtocolError(BAD_PARAMETERS, "arguments is not an object")
        try:
            check_arguments(tool, arguments)
            # Standard output is reserved for the protocol.
            with redirect_stdout(sys.stderr), spelling(as_argument):
                answer = tool.run(**arguments)
        except Exception as error:
            if not isinstance(error, ValueError | ModuleNotFoundError | OSError):
                report_fault(error)
            return _content(visitor_message(error, json.dumps(arguments)), is_error=True)
        return {**_content(answer.text), "structuredContent": answer.data}


def check_arguments(tool: Tool, arguments: Message) -> None:
    """Check the names and types of arguments.

    Raises:
        UserError: if they are not as declared. It becomes an answer of the tool, which the model
            can read and correct; it would not see an error of the protocol.
    """
    for name in tool.required:
        if name not in arguments:
            raise UserError(f"{tool.name} needs the argument {name!r}")
    for name, value in arguments.items():
        schema = tool.properties.get(name)
        if schema is None:
            names = ", ".join(tool.properties) or "none"
            raise UserError(f"{tool.name} has no argument {name!r}: they are {names}")
        why = mismatch(schema, value)
        if why:
            raise UserError(f"the argument {name!r} of {tool.name}: {why}")


def mismatch(schema: Mapping[str, Any], value: Any) -> str:
    """Return why a value does not match a schema; "" if it does."""
    kind = schema["type"]
    if kind == "array":
        if not isinstance(value, list):
            return "expected a list"
        if len(value) > schema["maxItems"]:
            return f"at most {schema['maxItems']} are allowed, not {len(value)}"
        return next(filter(None, (mismatch(schema["items"], item) for item in value)), "")
    if kind == "string":
        if not isinstance(value, str):
            return "expected a text"
        if len(value) > schema["maxLength"]:
            return f"at most {schema['maxLength']} characters are allowed, not {len(value)}"
        allowed = schema.get("enum")
        if allowed and value not in allowed:
            return f"{value!r} is not one of {', '.join(allowed)}"
        return ""
    whole = kind == "integer"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return "expected a whole number" if whole else "expected a number"
    low = schema["minimum"]
    high = schema["maximum"]
    if not low <= value <= high:
        return f"{value} is outside {low} to {high}"
    return ""


def _content(text: str, is_error: bool = False) -> Message:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _parsed(line: str | bytes) -> Message:
    if len(line) > MAX_LINE:
        raise ProtocolError(NOT_A_REQUEST, f"a message has at most {MAX_LINE} bytes")
    try:
        message = json.loads(line)
    except INVALID_JSON:
        raise ProtocolError(NOT_JSON, "the message is not JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(NOT_A_REQUEST, "the message is not a JSON-RPC 2.0 object")
    return message


def serve(server: Server, lines: Iterable[bytes], write: Callable[[str], Any]) -> None:
    """Answer lines until the input ends."""
    for line in lines:
        if not line.strip():
            continue
        answer = server.answer(line)
        if answer is not None:
            write(json.dumps(answer) + "\n")
