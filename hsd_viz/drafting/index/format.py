"""The file behind the model and statistics databases: a pre-counted, memory-mapped index of continuations.

Keys are the last 1 to ``longest`` tokens. A key's mark is the CRC-32 of its tokens as little-endian u32: the fastest hash plain
Python has. Its upper bits choose a bucket of about two keys, the whole of it is compared there. Two keys with the same mark
(with 300 000 keys, one unknown key in 14 000) cost a bad draft token and nothing else: a draft is only a proposal. Whoever
holds a key holds all its suffixes, so a look-up climbs until it misses.

Layout, little-endian: the preamble (magic, version, header length, CRC-32 of the header and of the rest), a JSON header, then
the arrays ``starts`` (u32 per bucket, one more at the end), ``marks`` (u32 per key), ``places`` (u32 per key: first value * 8 +
number of continuations) and ``values`` (u16, or u32 for large vocabularies; per key its total, then token, count, ...).
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from codecs import utf_32_le_encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.disk import replacing
from hsd_viz.drafting.context import Match

MAGIC = b"HSDVIZDB"
VERSION = 1
#: Continuations kept per key: their number has three bits.
MOST_CONTINUATIONS = 7
#: Values in one file: a place has 29 bits for the first of its key.
MOST_VALUES = 2**29
SUFFIX = ".hsdb"

_PREAMBLE = struct.Struct("<8sIIII")
_NOWHERE = (None,) * MOST_CONTINUATIONS


class DatabaseError(ValueError):
    """A database file that cannot be used; the message is one sentence with the file's name."""


def mark(key: Sequence[int]) -> int:
    """The mark of a key: its 32-bit hash."""
    return zlib.crc32(struct.pack(f"<{len(key)}I", *key))


def marks(keys: np.ndarray) -> np.ndarray:
    """:func:`mark` of every row of an integer array [keys, tokens], as uint32 [keys]."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        # The reflected polynomial of CRC-32 (ISO 3309), as in zlib.
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)
    crc = np.full(len(keys), 0xFFFFFFFF, dtype=np.uint32)
    for byte in np.ascontiguousarray(keys, dtype="<u4").view(np.uint8).reshape(len(keys), 4 * keys.shape[1]).T:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return ~crc


def pack_counts(counts: np.ndarray, wide: bool) -> np.ndarray:
    """Counts as stored: u16 holds 0-32767 exactly, above that multiples of 256 up to 8 388 352 (error below 0.8 %)."""
    counts = counts.astype(np.int64)
    if wide:
        return np.minimum(counts, 2**32 - 1).astype(np.uint32)
    return np.where(counts < 32768, counts, 32768 + np.minimum(counts >> 8, 32767)).astype(np.uint16)


@dataclass(frozen=True, slots=True)
class Table:
    """Counted keys, ready to be written. One row per key, in any order.

    ``marks`` uint32 [keys], ``lengths`` int [keys], ``totals`` int [keys] (times seen with anything after them); the
    continuations of row i are ``tokens[firsts[i]:firsts[i+1]]`` with ``counts``, likeliest first, at most seven.
    """

    marks: np.ndarray
    lengths: np.ndarray
    totals: np.ndarray
    firsts: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray


def pack_rows(table: Table, order: np.ndarray, wide: bool, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The arrays ``places`` and ``values`` for the rows of ``table`` in this ``order``, the first of them at value ``first``.

    Raises ValueError where a file has no room for so many values.
    """
    numbers = np.diff(table.firsts)[order]
    offsets = np.concatenate(([0], np.cumsum(1 + 2 * numbers)))
    if first + offsets[-1] >= MOST_VALUES:
        raise ValueError(f"{first + offsets[-1]} values are too many for one database file: prune more")
    values = np.zeros(offsets[-1], dtype="<u4" if wide else "<u2")
    values[offsets[:-1]] = pack_counts(table.totals[order], wide)
    # Each continuation's place: its key's first value, then pairs.
    row = np.repeat(np.arange(len(order)), numbers)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    source = np.repeat(table.firsts[:-1][order], numbers) + rank
    values[offsets[row] + 1 + 2 * rank] = table.tokens[source]
    values[offsets[row] + 2 + 2 * rank] = pack_counts(table.counts[source], wide)
    return ((first + offsets[:-1]) * 8 + numbers).astype("<u4"), values


def bucket_bits(keys: int) -> int:
    """How many upper bits of a mark choose its bucket in a file of ``keys`` keys."""
    return max(1, (max(keys, 2) // 2 - 1).bit_length())


def write_index(
    path: str | Path, table: Table, *, kind: str, vocabulary_size: int, vocabulary_hash: str, meta: Mapping
) -> None:
    """Write ``table`` as a database file, atomically: under a temporary name first, then renamed over ``path``."""
    bits = bucket_bits(len(table.marks))
    # The shorter of two keys with the same mark comes first and is found: it is the likelier one to be asked for.
    order = np.lexsort((table.lengths, table.marks))
    buckets = table.marks[order] >> np.uint32(32 - bits)
    places, values = pack_rows(table, order, vocabulary_size > 2**16)
    arrays = {
        "starts": np.searchsorted(buckets, np.arange(2**bits + 1)).astype("<u4"),
        "marks": table.marks[order].astype("<u4"),
        "places": places,
        "values": values,
    }
    header = {
        "kind": kind,
        "vocabulary_size": vocabulary_size,
        "vocabulary_hash": vocabulary_hash,
        "bits": bits,
        "longest": int(table.lengths.max(initial=1)),
        "keys_by_length": {str(n): int((table.lengths == n).sum()) for n in np.unique(table.lengths)},
        "continuations": len(table.tokens),
    }
    shapes = {name: [str(a.dtype), len(a)] for name, a in arrays.items()}
    write_file(path, {**header, "arrays": shapes, "meta": dict(meta)}, ([a.tobytes()] for a in arrays.values()))


def write_file(path: str | Path, header: dict, arrays: Iterable[Iterable[bytes]]) -> None:
    """Write a database file atomically from its header and the bytes of its arrays, each in pieces, in the header's order."""
    path = Path(path)
    head = json.dumps(header).encode()
    head += b" " * (-(_PREAMBLE.size + len(head)) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, sync=True) as fresh, open(fresh, "wb") as f:
        f.write(bytes(_PREAMBLE.size) + head)
        crc = 0
        for pieces in arrays:
            size = 0
            for piece in pieces:
                size += len(piece)
                crc = zlib.crc32(piece, crc)
                f.write(piece)
            padding = bytes(-size % 8)
            crc = zlib.crc32(padding, crc)
            f.write(padding)
        f.seek(0)
        f.write(_PREAMBLE.pack(MAGIC, VERSION, len(head), zlib.crc32(head), crc))


class Index:
    """An open database file. Read-only, memory-mapped: any number of runs and processes share its pages.

    Raises :class:`DatabaseError` for a file that is missing, cut short, altered, of another version or, where
    ``vocabulary_hash`` is given, made with another tokenizer. ``whole=False`` leaves the arrays unread, and so unchecked: opening
    a large file then costs no more than a small one, and :mod:`hsd_viz.drafting.guarded` reads it without believing it.
    """

    __slots__ = (
        "_bits",
        "_map",
        "_marks",
        "_places",
        "_starts",
        "_values",
        "_wide",
        "header",
        "longest",
        "path",
        "size",
    )

    def __init__(self, path: str | Path, vocabulary_hash: str | None = None, *, whole: bool = True) -> None:
        self.path = Path(path)
        name = self.path.name
        try:
            with open(self.path, "rb") as f:
                self.size = os.fstat(f.fileno()).st_size
                if self.size < _PREAMBLE.size:
                    raise DatabaseError(f"'{name}' is no database file of hsd_viz: it is only {self.size} bytes long")
                self._map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DatabaseError(f"the database '{self.path}' cannot be read: {error.strerror or error}") from None
        self.header, body = self._check(name, whole)
        theirs = self.header["vocabulary_hash"]
        if vocabulary_hash is not None and theirs != vocabulary_hash:
            raise DatabaseError(
                f"the database '{name}' was made with another tokenizer (vocabulary {theirs[:12]}, the models' is {vocabulary_hash[:12]})"
            )
        contents, views = memoryview(self._map), {}
        for array, (dtype, count) in self.header["arrays"].items():
            size = np.dtype(dtype).itemsize
            # Plain memoryviews read a scalar several times faster than numpy arrays do.
            views[array] = contents[body : body + size * count].cast({2: "H", 4: "I"}[size])
            body += (size * count + 7) // 8 * 8
        self._starts, self._marks, self._places, self._values = (
            views[k] for k in ("starts", "marks", "places", "values")
        )
        self._bits = 32 - self.header["bits"]
        self._wide = self.header["vocabulary_size"] > 2**16
        self.longest = self.header["longest"]

    def _check(self, name: str, whole: bool) -> tuple[dict, int]:
        """The header and where the arrays begin, once the header (``whole``: every byte) is known to be as it was written."""
        magic, version, length, head_crc, body_crc = _PREAMBLE.unpack_from(self._map)
        if magic != MAGIC:
            raise DatabaseError(f"'{name}' is no database file of hsd_viz")
        if version != VERSION:
            raise DatabaseError(
                f"the database '{name}' has format version {version}, this hsd_viz reads version {VERSION}: rebuild it"
            )
        body = _PREAMBLE.size + length
        head = self._map[_PREAMBLE.size : body]
        if body > self.size or zlib.crc32(head) != head_crc:
            raise DatabaseError(f"the database '{name}' is damaged: its header is not what was written")
        header = json.loads(head)
        expected = body + sum((np.dtype(d).itemsize * n + 7) // 8 * 8 for d, n in header["arrays"].values())
        if self.size != expected:
            raise DatabaseError(f"the database '{name}' is damaged: it has {self.size} bytes, {expected} were written")
        if whole and zlib.crc32(memoryview(self._map)[body:]) != body_crc:
            raise DatabaseError(f"the database '{name}' is damaged: its checksum does not fit its contents")
        if sys.byteorder != "little":
            raise DatabaseError(f"the database '{name}' can only be read on little-endian machines")
        return header, body

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """What followed the longest suffix of ``tail`` that is a key of at most ``longest`` tokens, or ``None``; likeliest first.

        ``tail`` is spelled as :func:`hsd_viz.drafting.context.spell` does.
        """
        starts, marks, bits, crc32 = self._starts, self._marks, self._bits, zlib.crc32
        size = len(tail)
        most = self.longest if longest is None or longest > self.longest else longest
        if size > most:
            tail, size = tail[size - most :], most
        # Characters in UTF-32 are the tokens as u32; some ids are no characters of any text, hence surrogatepass.
        packed = utf_32_le_encode(tail, "surrogatepass")[0]
        found = -1
        # Most pairs that occur are keys, so the climb begins at two tokens; a single one is the fall-back.
        at = 4 * size - 8 if size > 1 else 4 * size - 4
        while at >= 0:
            wanted = crc32(packed[at:])
            bucket = wanted >> bits
            i, end = starts[bucket], starts[bucket + 1]
            while i < end and marks[i] != wanted:
                i += 1
            if i < end:
                found, length = i, at
                if at == 4 * size - 4:
                    break
                at -= 4
            elif at == 4 * size - 8:
                at += 4
            else:
                break
        if found < 0:
            return None
        total, continuations = self._read(found)
        return size - (length >> 2), total, continuations

    def _read(self, key: int) -> tuple[int, list[tuple[int, int, None]]]:
        """The total and the continuations of the key in row ``key``."""
        place = self._places[key]
        at = place >> 3
        row = self._values[at : at + 1 + 2 * (place & 7)].tolist()
        if not self._wide and max(row) >= 32768:
            for i in range(0, len(row), 2):
                if row[i] >= 32768:
                    row[i] = (row[i] - 32768) << 8
        return row[0], list(zip(row[1::2], row[2::2], _NOWHERE, strict=False))

    def entries(self) -> Iterator[tuple[int, list[tuple[int, int, None]]]]:
        """Yield (total, continuations) of every key, in file order. The keys themselves are stored as marks only."""
        for key in range(len(self._marks)):
            yield self._read(key)
