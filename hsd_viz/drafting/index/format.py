"""The file format of the model and statistics databases: a pre-counted, memory-mapped index of continuations.

Keys are the last 1 to ``longest`` tokens. The mark of a key is the CRC-32 of its tokens as little-endian u32, the
fastest hash in plain Python. Its upper bits select a bucket of about two keys, in which whole marks are compared. A
collision (with 300 000 keys, one unknown key in 14 000) costs one bad draft token and nothing else. If a key is in the
file, so are all its suffixes.

Layout, little-endian: the preamble (magic, version, header length, CRC-32 of the header and of the rest), a JSON
header, then the arrays ``starts`` (u32 per bucket, one more at the end), ``marks`` (u32 per key), ``places`` (u32 per
key: first value * 8 + number of continuations) and ``values`` (u16, or u32 for large vocabularies; per key its total,
then token, count, ...).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.disk import replacing

MAGIC = b"HSDVIZDB"
VERSION = 1
#: Most continuations per key: their number has three bits.
MOST_CONTINUATIONS = 7
#: Values in one file: a place has 29 bits for the first of its key.
MOST_VALUES = 2**29
SUFFIX = ".hsdb"

PREAMBLE = struct.Struct("<8sIIII")


class DatabaseError(ValueError):
    """A database file that cannot be used; the message is one line with the file's name."""


def marks(keys: np.ndarray) -> np.ndarray:
    """Return the CRC-32 of every row of an integer array [keys, tokens] as little-endian u32, as uint32 [keys]."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        # The reflected polynomial of CRC-32 (ISO 3309), as in zlib.
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)
    crc = np.full(len(keys), 0xFFFFFFFF, dtype=np.uint32)
    for byte in np.ascontiguousarray(keys, dtype="<u4").view(np.uint8).reshape(len(keys), 4 * keys.shape[1]).T:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return ~crc


def pack_counts(counts: np.ndarray, wide: bool) -> np.ndarray:
    """Return counts as stored: u16 is exact up to 32767, then multiples of 256 up to 8 388 352 (error below 0.8 %)."""
    counts = counts.astype(np.int64)
    if wide:
        return np.minimum(counts, 2**32 - 1).astype(np.uint32)
    return np.where(counts < 32768, counts, 32768 + np.minimum(counts >> 8, 32767)).astype(np.uint16)


@dataclass(frozen=True, slots=True)
class Table:
    """Counted keys, one row per key, in any order.

    ``marks`` uint32 [keys], ``lengths`` int [keys], ``totals`` int [keys] (times seen with anything after them); the
    continuations of row i are ``tokens[firsts[i]:firsts[i+1]]`` with ``counts``, most frequent first, at most seven.
    """

    marks: np.ndarray
    lengths: np.ndarray
    totals: np.ndarray
    firsts: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray


def pack_rows(table: Table, order: np.ndarray, wide: bool, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays ``places`` and ``values`` for the rows of ``table`` in ``order``, from value ``first``."""
    numbers = np.diff(table.firsts)[order]
    offsets = np.concatenate(([0], np.cumsum(1 + 2 * numbers)))
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
    """Return how many upper bits of a mark select its bucket in a file of ``keys`` keys."""
    return max(1, (max(keys, 2) // 2 - 1).bit_length())


def write_file(path: str | Path, header: dict, arrays: Iterable[Iterable[bytes]]) -> None:
    """Write a database file atomically: its header, and its arrays in pieces of bytes in the header's order."""
    path = Path(path)
    head = json.dumps(header).encode()
    head += b" " * (-(PREAMBLE.size + len(head)) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, sync=True) as fresh, open(fresh, "wb") as f:
        f.write(bytes(PREAMBLE.size) + head)
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
        f.write(PREAMBLE.pack(MAGIC, VERSION, len(head), zlib.crc32(head), crc))
