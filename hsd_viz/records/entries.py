"""Reads the entries of a file of any size one at a time: lines, JSON lines or one JSON array, plain
or gzipped.

Nothing in a file is executed. An unusable entry becomes a :class:`BrokenEntry`, not an exception.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hsd_viz.disk import Unpacked
from hsd_viz.errors import INVALID_JSON, BadFile

#: Maximum size of a line or array element in bytes; memory use is about ten times that.
MAX_BYTES = 8 * 2**20
_BETWEEN = frozenset(" \t\r\n,")
_BEFORE = (b" ", b"\t", b"\r", b"\n", b"\xef", b"\xbb", b"\xbf")


@dataclass(frozen=True, slots=True)
class BrokenEntry:
    """An unusable entry.

    Attributes:
        number: the line of the entry, or its number in a JSON array, from 1.
        why: the reason.
    """

    number: int
    why: str


class _CountedFile(io.FileIO):
    """A file or a pipe whose position is the number of bytes read, since pipes have no position."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._position = 0

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._position += count or 0
        return count

    def readall(self) -> bytes:
        content = super().readall()
        self._position += len(content)
        return content

    def tell(self) -> int:
        return self._position


class _Resumed(io.RawIOBase):
    """A stream of bytes that were already read of a file, followed by the rest of the file."""

    def __init__(self, content: bytes, file: BinaryIO) -> None:
        self._content = io.BytesIO(content)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._content.readinto(buffer)
        if count:
            return count
        self._content = io.BytesIO()
        return self._file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]


class EntryReader:
    """Reader of the numbered entries of a file; ``kind`` names the file in messages.

    Raises:
        BadFile: if the file cannot be opened.
    """

    def __init__(self, path: str | Path, kind: str = "log") -> None:
        self.path = Path(path)
        try:
            self._raw = io.BufferedReader(_CountedFile(self.path))
            self.size = self.path.stat().st_size
            packed = self._raw.peek(2).startswith(b"\x1f\x8b")
        except OSError as error:
            reason = error.strerror or error
            raise BadFile(f"cannot read the {kind} {self.path}: {reason}") from None
        self._file: BinaryIO
        if packed:
            self._file = io.BufferedReader(Unpacked(fileobj=self._raw))
        else:
            self._file = self._raw
        #: The number of line ends that :meth:`first_character` skipped.
        self._skipped_lines = 0

    @property
    def done(self) -> int:
        """The number of bytes read so far."""
        return self._raw.tell()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def first_line(self) -> int:
        """The line of :meth:`first_character`, from 1."""
        return 1 + self._skipped_lines

    def first_character(self) -> bytes:
        """Read and return the first byte that is neither white space nor a byte order mark."""
        start = self._file.read(1)
        while start in _BEFORE:
            self._skipped_lines += start == b"\n"
            start = self._file.read(1)
        return start

    def entries(self) -> Iterator[tuple[int, Any]]:
        """Yield (number, JSON value or broken entry)."""
        start = self.first_character()
        if start == b"[":
            yield from self.array()
            return
        for number, line in self.lines(start):
            yield number, line if isinstance(line, BrokenEntry) else _parse(number, line)

    def lines(self, start: bytes = b"") -> Iterator[tuple[int, bytes | BrokenEntry]]:
        """Yield (line number, line or broken entry) of the non-empty lines, the first after
        ``start``.
        """
        number = self._skipped_lines
        while line := start + self._file.readline(MAX_BYTES):
            number += 1
            start = b""
            if len(line) >= MAX_BYTES and not line.endswith(b"\n"):
                self._skip_line()
                yield number, BrokenEntry(number, f"longer than {MAX_BYTES // 2**20} MiB")
            elif line.strip():
                yield number, line

    def array(self) -> Iterator[tuple[int, Any]]:
        """Yield the numbered elements of a JSON array whose opening bracket was read."""
        yield from enumerate_array(self._file)

    def rest(self, most: int = -1) -> bytes:
        """Return the unread rest, at most ``most`` bytes."""
        return self._file.read(most)

    def peek(self, bytes_: int) -> bytes:
        """Return the next bytes without consuming them."""
        return self._file.peek(bytes_)[:bytes_]  # type: ignore[attr-defined]

    def put_back(self, content: bytes) -> None:
        """Put back ``content``, which was read last."""
        self._file = io.BufferedReader(_Resumed(content, self._file))

    def _skip_line(self) -> None:
        while rest := self._file.readline(MAX_BYTES):
            if rest.endswith(b"\n"):
                return


def enumerate_array(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield the numbered elements of a JSON array whose bracket was read; damage ends it with a
    broken entry.
    """
    decode = json.JSONDecoder().raw_decode
    reader = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape")
    number = 0
    text = ""
    at = 0
    ended = False
    try:
        while True:
            while text[at : at + 1] in _BETWEEN:
                at += 1
            if text.startswith("]", at):
                return
            try:
                value, end = decode(text, at)
            except INVALID_JSON as error:
                text = text[at:]
                at = 0
                if isinstance(error, RecursionError) or ended or len(text) > MAX_BYTES:
                    yield number + 1, BrokenEntry(number + 1, "the rest of the array is not JSON")
                    return
                # Doubling keeps the work linear in the size of an element.
                more = reader.read(max(2**16, len(text)))
                ended = not more
                text += more
                continue
            number += 1
            at = end
            yield number, value
    finally:
        reader.detach()


def _parse(number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        return BrokenEntry(number, f"not UTF-8 text (byte {error.start} of the line)")
    except RecursionError:
        return BrokenEntry(number, "not JSON (nested too deeply)")
    except ValueError as error:
        return BrokenEntry(number, f"not JSON ({str(error).splitlines()[0]})")
