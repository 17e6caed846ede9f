"""The format of database files: a pre-counted, memory-mapped index of continuations.

Keys are the last 1 to ``longest`` tokens; all suffixes of a key are keys. The mark of a key is the
CRC-32 of its tokens as little-endian u32, the fastest hash in plain Python. Its upper bits select a
bucket of about two keys, in which whole marks are compared. A collision (one unknown key in 14 000
with 300 000 keys) costs one bad draft token.

A database file is a safetensors file of four tensors:

* ``starts``: the first key of each bucket, u32 [buckets + 1];
* ``marks``: the mark of each key, u32 [keys];
* ``places``: the index of the first value of each key, times 8, plus the number of its
  continuations, u32 [keys];
* ``values``: for each key its total, then a token and a count per continuation; u16, or u32 for
  large vocabularies.

The metadata contains the version, ``facts`` as JSON, the CRC-32 of the header (computed with zeros
in place of the checksum), which is always checked, and the CRC-32 of the tensors. Even in a damaged
file, a look-up ends after a bounded number of steps and never returns a token outside the
vocabulary.
"""

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from hsd_viz.errors import BadFile

VERSION = "2"
SUFFIX = ".hsdb"
#: The largest number of continuations per key, which is stored in three bits.
MAX_CONTINUATIONS = 7
#: The largest number of values in a file, whose indices have 29 bits.
MAX_VALUES = 2**29
#: The bytes of a key in the file besides its values: mark, place, and half of a bucket's start.
KEY_BYTES = 10
#: The largest number of bits that select a bucket; a mark has 32 bits.
MAX_BITS = 28
#: The largest size of a header in bytes.
MAX_HEADER = 2**20
#: The names of the tensors in a file, in their order.
TENSORS = ("starts", "marks", "places", "values")
#: The placeholder of the checksum while the checksum of a header is computed.
NO_CHECKSUM = "0" * 8


class DatabaseError(BadFile):
    """An error for a database file that cannot be used. The message is a line with its name."""


def marks(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Return the CRC-32 of keys, whose tokens are little-endian u32, as uint32 [keys].

    ``columns`` are the first tokens of all keys, the second tokens, and so on, each int [keys].
    """
    # The CRC table by byte, computed with zlib, which inverts the checksum before and after.
    table = np.array(
        [zlib.crc32(bytes([byte ^ 0xFF])) ^ 0xFF000000 for byte in range(256)], dtype=np.uint32
    )
    crc: Any = np.uint32(0xFFFFFFFF)
    for tokens in columns:
        for shift in (0, 8, 16, 24):
            crc = table[(crc ^ (tokens.astype(np.uint32) >> shift)) & 0xFF] ^ (crc >> 8)
    return ~crc


def pack_counts(counts: np.ndarray, wide: bool) -> np.ndarray:
    """Return counts in the stored form.

    u32 counts are exact. u16 counts are exact up to 32 767, then multiples of 256 up to 8 388 352
    (with an error below 0.8 %).
    """
    counts = counts.astype(np.int64)
    if wide:
        return np.minimum(counts, 2**32 - 1).astype(np.uint32)
    return np.where(counts < 32768, counts, 32768 + np.minimum(counts >> 8, 32767)).astype(
        np.uint16
    )


class KeyTable(NamedTuple):
    """A table of counted keys, with a row per key.

    The continuations of all keys are concatenated in the order of the keys, and for each key the
    most frequent comes first.

    Attributes:
        marks: the mark of each key, uint32 [keys].
        lengths: the number of tokens in each key, int [keys].
        totals: the number of occurrences of each key that a token follows, int [keys].
        numbers: the number of continuations of each key, at most seven, int [keys].
        gains: the number of correct first continuations that each key adds to those of its suffix,
            float [keys].
        tokens: the token of each continuation, int [continuations].
        counts: the count of each continuation, int [continuations].
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
        """Return the keys selected by a mask, bool [keys], with their continuations."""
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
