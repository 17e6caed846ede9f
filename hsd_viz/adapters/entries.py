"""Entries of a file of any size, one at a time: JSON lines or one JSON array, plain or gzipped.

Nothing in a file is executed, and an entry that cannot be used is a :class:`BrokenEntry`, never an exception.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from hsd_viz.disk import Unpacked
from hsd_viz.errors import UserError

#: Bytes of the longest line or array element that is read; memory is about ten times that.
MOST_BYTES = 8 * 2**20
_BETWEEN = frozenset(" \t\r\n,")


@dataclass(frozen=True, slots=True)
class BrokenEntry:
    """An entry that cannot be used, and why."""

    number: int
    why: str


class EntryReader:
    """Yields the numbered entries of a file. ``size`` is its size in bytes. Raises: ValueError: if the file cannot be
    opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._raw = self.path.open("rb")
            self.size = self.path.stat().st_size
            packed = self._raw.read(2) == b"\x1f\x8b"
            self._raw.seek(0)
        except OSError as error:
            raise UserError(f"cannot read the log {self.path}: {error.strerror or error}") from None
        self._file: BinaryIO = (
            io.BufferedReader(Unpacked(fileobj=self._raw)) if packed else self._raw
        )

    @property
    def done(self) -> int:
        """The bytes read so far."""
        return self._raw.tell()

    def close(self) -> None:
        self._raw.close()

    def entries(self) -> Iterator[tuple[int, Any]]:
        """Yield (number, JSON value or broken entry)."""
        start = self._file.read(1)
        while start in (b" ", b"\t", b"\r", b"\n", b"\xef", b"\xbb", b"\xbf"):
            start = self._file.read(1)
        yield from enumerate_array(self._file) if start == b"[" else self._lines(start)

    def _lines(self, start: bytes) -> Iterator[tuple[int, Any]]:
        number = 0
        while line := start + self._file.readline(MOST_BYTES):
            number, start = number + 1, b""
            if len(line) >= MOST_BYTES and not line.endswith(b"\n"):
                while (rest := self._file.readline(MOST_BYTES)) and not rest.endswith(b"\n"):
                    pass
                yield number, BrokenEntry(number, f"longer than {MOST_BYTES // 2**20} MiB")
            elif line.strip():
                yield number, _parse(number, line)


def enumerate_array(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield the numbered elements of a JSON array whose bracket was read; damage ends it with a broken entry."""
    decode, number = json.JSONDecoder().raw_decode, 0
    text, at, reader, ended = (
        "",
        0,
        io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape"),
        False,
    )
    try:
        while True:
            while text[at : at + 1] in _BETWEEN:
                at += 1
            if text.startswith("]", at):
                return
            try:
                value, end = decode(text, at)
            except (ValueError, RecursionError) as error:
                text, at = text[at:], 0
                if isinstance(error, RecursionError) or ended or len(text) > MOST_BYTES:
                    yield number + 1, BrokenEntry(number + 1, "the rest of the array is not JSON")
                    return
                # Doubling keeps the work linear in the size of an element.
                more = reader.read(max(2**16, len(text)))
                ended, text = not more, text + more
                continue
            number, at = number + 1, end
            yield number, value
    finally:
        reader.detach()


def _parse(number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        return BrokenEntry(number, f"not UTF-8 text (byte {error.start} of the line)")
    except (ValueError, RecursionError) as error:
        reason = (
            "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        )
        return BrokenEntry(number, f"not JSON ({reason})")
