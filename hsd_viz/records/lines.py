"""Restores the lines that an engine wrote: removes colours, container wrappers and prefixes.

A file consists of text, JSON lines, a JSON array, one JSON object over several lines, or the events
of a stream (``data: {...}``). :func:`documents` yields each as text or as a JSON value, with its
line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz.errors import CUT_SHORT, INVALID_JSON
from hsd_viz.records.entries import BrokenEntry, EntryReader

#: Maximum size of a JSON object over several lines, in bytes.
MAX_OBJECT = 64 * 2**20
#: Maximum number of successive array elements that are not objects, before the array is skipped.
MAX_OTHERS = 10_000
#: Fields of a wrapped line that hold the text, and those that hold its time: Docker, CRI-O, Loki,
#: Fluent Bit, Google Cloud, journald, structlog.
TEXT_FIELDS = ("log", "message", "msg", "line", "textPayload", "MESSAGE", "event", "body", "text")
TIME_FIELDS = ("time", "timestamp", "ts", "@timestamp", "date")
#: Fields by which an entry is a response.
RESPONSE_FIELDS = ("choices", "meta_info", "timings", "metrics")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]")
#: Matches the rest of colour codes whose escape character was dropped by a viewer.
_BARE_COLOURS = re.compile(r"(?<!\w)\[(?:\d{1,3}(?:;\d{1,3})*)m")
#: 2026-11-20 09:00:08,123
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?")
#: 11-20 09:00:08
_SHORT_DATE = re.compile(r"\b\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?\b")
#: A line of a log that starts with a bracket: a date, a level, a colour, or the number of a process
#: or port with text after it.
_LOG_BRACKET = re.compile(
    rb"\[(?:\d{4}-|\d+(?:;\d+)*m|(?!true|false|null)[A-Za-z]|\d+\][ \t]+[^\s])"
)
#: llama.cpp: 0.06.896.015 I, behind the port of the instance where a router started it.
_UPTIME = re.compile(r"^\s*(?:\[\d+\]\s+)?(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) [A-Z] ")


@dataclass(frozen=True, slots=True)
class Document:
    """A line, or a JSON value.

    Attributes:
        line: the number of the line or of the array element, from 1.
        text: the line without colours and wrappers; "" for a JSON value.
        value: the JSON value; ``None`` for a line.
        clock: the time stated by a wrapper.
        event: whether the value is an event of a stream.
    """

    line: int
    text: str = ""
    value: Any = None
    clock: str = ""
    event: bool = False


def clean(text: str) -> str:
    """Return a line without colours and control characters."""
    without = _COLOURS.sub("", text)
    without = _BARE_COLOURS.sub("", without)
    return without.replace("\x00", "").rstrip("\r\n")


def clock_of(text: str) -> str:
    """Return the time of a line, as written; "": none."""
    match = _DATE.search(text) or _SHORT_DATE.search(text)
    if match is not None:
        return match[0]
    uptime = _UPTIME.match(text)
    return "" if uptime is None else ".".join(uptime.groups())


def documents(path: str | Path) -> Iterator[Document | BrokenEntry]:
    """Yield the lines and JSON values of a file.

    Raises:
        BadFile: if the file cannot be opened.
    """
    reader = EntryReader(path, kind="record")
    try:
        start = reader.first_character()
        if start == b"[":
            yield from _array_or_lines(reader)
            return
        if start == b"{":
            content = start + reader.rest(MAX_OBJECT)
            whole = _whole_object(content)
            if whole is not None:
                yield Document(reader.first_line, value=whole)
                return
            reader.put_back(content)
            start = b""
        for number, line in reader.lines(start):
            if isinstance(line, BrokenEntry):
                yield line
            else:
                yield document_of(number, line.decode("utf-8", errors="replace"))
    except CUT_SHORT as error:
        yield BrokenEntry(0, f"the file cannot be read further: {error}")
    finally:
        reader.close()


def _array_or_lines(reader: EntryReader) -> Iterator[Document | BrokenEntry]:
    """Yield the elements of a JSON array, or the lines of a log that starts with a bracket."""
    following = b"[" + reader.peek(80)
    if _LOG_BRACKET.match(following) is None:
        others = 0
        for number, value in reader.array():
            if isinstance(value, BrokenEntry):
                yield value
                continue
            others = 0 if isinstance(value, dict) else others + 1
            if others > MAX_OTHERS:
                yield BrokenEntry(number, f"after {MAX_OTHERS} elements other than objects")
                return
            yield Document(number, value=value)
        return
    for number, line in reader.lines(b"["):
        if isinstance(line, BrokenEntry):
            yield line
        else:
            yield document_of(number, line.decode("utf-8", errors="replace"))


def _whole_object(content: bytes) -> Any:
    """Parse a file as one JSON object; ``None`` if it is not one."""
    first, _, more = content.partition(b"\n")
    if more.strip() and _is_json(first):
        return None
    try:
        return json.loads(content)
    except INVALID_JSON:
        return None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except INVALID_JSON:
        return False
    return True


def document_of(number: int, line: str) -> Document:
    """Return a line as text, or as the JSON value of a response or an event."""
    text = clean(line)
    stripped = text.strip()
    event = stripped.startswith("data:")
    if event:
        stripped = stripped.removeprefix("data:").strip()
    if not stripped.startswith("{"):
        return Document(number, text="" if event else text, event=event)
    try:
        value = json.loads(stripped)
    except INVALID_JSON:
        return Document(number, text=text)
    return unwrapped(number, value, event)


def unwrapped(number: int, value: Mapping[str, Any], event: bool = False) -> Document:
    """Return the line that a container log wraps, or the JSON value itself."""
    fields = [value.get(name) for name in TEXT_FIELDS]
    texts = [field for field in fields if isinstance(field, str)]
    is_response = any(name in value for name in RESPONSE_FIELDS)
    if not texts or is_response or event:
        return Document(number, value=value, event=event)
    clock = ""
    for name in TIME_FIELDS:
        if isinstance(value.get(name), str):
            clock = value[name]
            break
    inner = clean(texts[0])
    if inner.strip().startswith("{"):
        try:
            return Document(number, value=json.loads(inner), clock=clock)
        except INVALID_JSON:
            pass
    return Document(number, text=inner, clock=clock)
