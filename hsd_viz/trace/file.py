"""Read and write trace files. A trace file is a JSON object, which may be gzipped.

Its keys are ``format``, ``schema``, ``meta`` (the description of the run), ``pieces`` (the texts of
tokens by id) and the four tables, each an object of columns. The values of columns are packed by
:meth:`hsd_viz.trace.tables.Column.pack`.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, cast

from hsd_viz.disk import is_regular, most_unpacked, write_whole
from hsd_viz.errors import INVALID_JSON, BadFile, UserError
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.tables import TABLES, Columns

FORMAT = "hsd_viz trace"
#: The schema that is written. Files of schema 1, with plain columns, are still read.
SCHEMA_VERSION = 2
#: The largest file that is read, in bytes of JSON, which is about 500 000 tokens.
MAX_BYTES = 2_000_000_000
#: The required keys of a trace's meta; other keys depend on the engine.
REQUIRED_META = ("stack", "prompt", "prompt_ids", "prefill_ns", "wall_ns")
_GZIP = b"\x1f\x8b"
_READING = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_READING.acquire, after_in_parent=_READING.release, after_in_child=_READING.release
    )

#: Four tables, and the texts of tokens by id.
Tables = tuple[dict[str, Columns], dict[int, str]]


class TraceError(BadFile):
    """An error for a trace file that cannot be read, with a one-line message."""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a trace file.

    Attributes:
        meta: the description of the run.
        columns: the columns by table and name.
        pieces: the texts of tokens by id.
    """

    meta: TraceMeta
    columns: dict[str, Columns]
    pieces: dict[int, str]


def to_data(content: Content) -> dict[str, Any]:
    """Return a trace as plain JSON data, with a list per column."""
    return {
        "format": FORMAT,
        "schema": SCHEMA_VERSION,
        "meta": content.meta,
        "pieces": {str(token): text for token, text in content.pieces.items()},
        **content.columns,
    }


def from_data(data: Any) -> Content:
    """Return the content of a trace from plain or packed JSON data.

    Raises:
        TraceError: if ``data`` is not a complete trace.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError("this is not an hsd_viz trace: it was not written by hsd_viz for a run")
    _check_schema(data.get("schema"))
    try:
        return _read_content(data)
    except ValueError as error:
        raise TraceError(f"the trace is not valid: {error}") from None


def _check_schema(schema: Any) -> None:
    if isinstance(schema, int) and 1 <= schema <= SCHEMA_VERSION:
        return
    newer = ": update hsd_viz" if isinstance(schema, int) and schema > 0 else ""
    raise TraceError(
        f"the trace has schema version {schema!r}, this hsd_viz reads up to {SCHEMA_VERSION}{newer}"
    )


def _read_content(data: dict[str, Any]) -> Content:
    meta = data.get("meta")
    pieces = data.get("pieces")
    are_objects = isinstance(meta, dict) and isinstance(pieces, dict)
    if not are_objects or not all(map(str.isdecimal, data["pieces"])):
        raise UserError("its parts do not have the structure of a trace")
    missing = [key for key in REQUIRED_META if key not in data["meta"]]
    if missing:
        raise UserError(f"its meta lacks {', '.join(missing)}")
    if not isinstance(data["meta"]["prompt_ids"], list | tuple | None):
        raise UserError("the prompt_ids of its meta are not a list")
    if not isinstance(data["meta"].get("sampling"), dict | None):
        raise UserError("the sampling of its meta is not an object")
    columns, texts = read_tables(data)
    return Content(cast("TraceMeta", dict(data["meta"])), columns, texts)


def read_tables(data: dict[str, Any]) -> Tables:
    """Return the tables and the texts of tokens from the JSON data of a trace or a step.

    Raises:
        UserError: if a table is not valid.
        ValueError: if a token id is not a whole number.
    """
    pieces = {int(token): str(text) for token, text in data["pieces"].items()}
    return {name: table.read(data.get(name)) for name, table in TABLES.items()}, pieces


def to_bytes(content: Content, packed: bool = True) -> bytes:
    """Return the bytes of a trace file: JSON with packed columns, gzipped if ``packed``."""
    data = to_data(content)
    for name, table in TABLES.items():
        columns = content.columns[name]
        data[name] = {key: column.pack(columns[key]) for key, column in table.columns.items()}
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode()
    # mtime=0, so that the same trace gives the same bytes.
    return gzip.compress(text, mtime=0) if packed else text


def from_bytes(payload: bytes, name: str = "trace", max_bytes: int = MAX_BYTES) -> Content:
    """Read the bytes of a trace file, gzipped or not.

    Args:
        payload: the bytes of the file.
        name: the name of the file, for error messages.
        max_bytes: the largest size in bytes after unpacking.

    Raises:
        TraceError: if the file is too large or not a complete trace.
    """
    payload = _unpacked(payload, name, max_bytes)
    try:
        with _without_collections():
            return from_data(json.loads(payload))
    except TraceError as error:
        raise TraceError(f"{name}: {error}") from None
    except INVALID_JSON:
        why = "it is not JSON"
        if not payload:
            why = "the file is empty"
        elif payload.lstrip().startswith(b"{"):
            why = "the JSON is incomplete"
        raise TraceError(f"{name} is not a valid trace: {why}") from None


@contextmanager
def _without_collections() -> Iterator[None]:
    """Disable garbage collection while a file is read.

    Reading creates hundreds of thousands of lists and releases none, so collections would double
    the time. A lock admits one thread at a time: otherwise a second thread could find collection
    disabled, and leave it disabled.
    """
    with _READING:
        collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()


def save(content: Content, path: str | os.PathLike) -> Path:
    """Write a trace file atomically, gzipped if the name ends in ``.gz``.

    Raises:
        UserError: if the name ends in neither ``.json`` nor ``.json.gz``.
    """
    path = checked_name(Path(path))
    write_whole(path, to_bytes(content, packed=path.name.endswith(".gz")))
    return path


def load(path: str | os.PathLike) -> Content:
    """Read a trace file.

    Raises:
        TraceError: if the file is missing, invalid or of a newer version.
    """
    try:
        with Path(path).open("rb") as stream:  # a device may have no end
            return from_bytes(stream.read(MAX_BYTES + 1), name=Path(path).name)
    except OSError as error:
        raise TraceError(f"cannot read the trace {path}: {error.strerror or error}") from None


def checked_name(path: Path) -> Path:
    """Check the name of a trace file to write, and return its path.

    Raises:
        UserError: if the name ends in neither ``.json`` nor ``.json.gz``.
    """
    if is_regular(path) and not path.name.endswith((".json", ".json.gz")):
        message = f"cannot save a trace as {path.name}: the name must end in .json or .json.gz"
        if path.suffix.lower() in (".html", ".htm"):
            message += (
                "; for a page use trace.to_html() or `hsd-viz export run.json.gz --html FILE`"
            )
        raise UserError(message)
    return path


def _unpacked(content: bytes, name: str, max_bytes: int) -> bytes:
    """Return the unpacked content, of at most ``max_bytes`` bytes.

    The limit is needed, because a small file can unpack to any size.
    """
    if not content.startswith(_GZIP):
        if len(content) > max_bytes:
            raise TraceError(f"{name} is too large: the maximum is {max_bytes / 1e6:.0f} MB")
        return content
    unpacking = zlib.decompressobj(wbits=31)
    max_bytes = min(max_bytes, most_unpacked(len(content)))
    try:
        text = unpacking.decompress(content, max_bytes)
        if unpacking.unconsumed_tail:
            raise TraceError(
                f"{name} is too large: the maximum for a file of its "
                f"size is {max_bytes / 1e6:.0f} MB unpacked"
            )
        if not unpacking.eof:
            raise zlib.error
    except zlib.error:
        raise TraceError(
            f"{name} is not a valid trace: its gzip data is incomplete or damaged"
        ) from None
    return text
