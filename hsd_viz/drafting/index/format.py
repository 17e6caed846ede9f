"""The files of the model and statistics databases: a pre-counted, memory-mapped index of
continuations.

Keys are the last 1 to ``longest`` tokens; all suffixes of a key are keys. The mark of a key is the
CRC-32 of its tokens as little-endian u32, the fastest hash in plain Python. Its upper bits select a
bucket of about two keys, in which whole marks are compared. A collision (one unknown key in 14 000
with 300 000 keys) costs one bad draft token.

A file is a safetensors file of four tensors: ``starts`` (u32 per bucket, one more at the end),
``marks`` (u32 per key), ``places`` (u32 per key: first value * 8 + number of continuations) and
``values`` (u16, or u32 for large vocabularies; per key its total, then token, count, ...). Its
metadata contains the version, ``facts`` as JSON, and the CRC-32 of the header (counted with zeros
in place of the checksum), always checked, and of the tensors. With any damage, a look-up ends after
a bounded number of steps, and returns no token outside the vocabulary.
"""

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from hsd_viz.errors import BadFile

VERSION = "2"
SUFFIX = ".hsdb"
#: Most continuations per key (their number has three bits), and values in one file (a place has 29
#: bits).
MOST_CONTINUATIONS = 7
MOST_VALUES = 2**29
#: Bytes of a key in the file besides its values: mark, place, and half of a bucket's start.
KEY_BYTES = 10
#: Most bits of a bucket: a mark has 32.
MOST_BITS = 28
#: The most bytes of a header.
MOST_HEADER = 2**20
#: The tensors of a file, in their order.
TENSORS = ("starts", "marks", "places", "values")
#: What a header has in place of its checksum while that is computed.
NO_CHECKSUM = "0" * 8


class DatabaseError(BadFile):
    """A database file that cannot be used; the message is one line with the file's name."""


def marks(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Return the CRC-32 of keys as little-endian u32, uint32 [keys]; ``columns`` are their first
    tokens, second, ...
    """
    # What one byte changes, from zlib itself, which inverts the checksum before and after.
    table = np.array(
        [zlib.crc32(bytes([byte ^ 0xFF])) ^ 0xFF000000 for byte in range(256)], dtype=np.uint32
    )
    crc: Any = np.uint32(0xFFFFFFFF)
    for tokens in columns:
        for shift in (0, 8, 16, 24):
            crc = table[(crc ^ (tokens.astype(np.uint32) >> shift)) & 0xFF] ^ (crc >> 8)
    return ~crc


def pack_counts(counts: np.ndarray, wide: bool) -> np.ndarray:
    """Return counts as stored: u16 is exact up to 32767, then multiples of 256 up to 8 388 352
    (error below 0.8 %).
    """
    counts = counts.astype(np.int64)
    if wide:
        return np.minimum(counts, 2**32 - 1).astype(np.uint32)
    return np.where(counts < 32768, counts, 32768 + np.minimum(counts >> 8, 32767)).astype(
        np.uint16
    )


class KeyTable(NamedTuple):
    """Counted keys, a row per key, with their continuations in the order of the keys, most frequent
    first.

    Attributes:
        marks: of the keys, uint32 [keys].
        lengths: their tokens, int [keys].
        totals: how often each was seen with anything after it, int [keys].
        numbers: how many continuations each has, at most seven, int [keys].
        gains: the correct first continuations that a key adds to those of its suffix, float [keys].
        tokens: of the continuations, int [continuations].
        counts: of the continuations, int [continuations].
    """

    marks: np.ndarray
    lengths: np.ndarray
    totals: np.ndarray
    numbers: np.ndarray
    gains: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls) -> Self:
        """Return a table without keys."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none.astype(np.uint32), none, none, none, none, none, none)

    def where(self, mask: np.ndarray) -> Self:
        """Return the keys of a mask, bool [keys], with their continuations."""
        of_continuations = np.repeat(mask, self.numbers)
        return self._replace(
            marks=self.marks[mask],
            lengths=self.lengths[mask],
            totals=self.totals[mask],
            numbers=self.numbers[mask],
            gains=self.gains[mask],
            tokens=self.tokens[of_continuations],
            counts=self.counts[of_continuations],
        )
