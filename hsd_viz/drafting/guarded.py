"""Database files too large to be read whole before every use: opened at once, and never believed.

A file of up to :data:`READ_WHOLE` bytes is checked byte by byte when it is opened. Of a larger one the header and the size are checked; of
the arrays each row is looked at as it is read. Whatever bits are flipped there, a look-up ends after a bounded number of steps, raises
nothing and gives no token outside the vocabulary: at worst it proposes a token that the target refuses, or finds nothing.
``hsd-viz databases inspect --verify`` reads any file whole.
"""

from __future__ import annotations

import zlib
from codecs import utf_32_le_encode
from pathlib import Path

from hsd_viz.drafting.index.format import DatabaseError, Index

from .context import Match

#: Bytes of a file that is read whole when it is opened: its checksum takes some 50 ms.
READ_WHOLE = 64 * 2**20
#: Keys looked at in one bucket. On average a bucket has one or two; among 2**28 buckets of random marks none reaches twenty.
MOST_IN_BUCKET = 32


def open_index(
    path: str | Path,
    vocabulary_hash: str | None = None,
    *,
    vocabulary_size: int | None = None,
    read_whole: int = READ_WHOLE,
) -> Index:
    """Open a database file, wary of its contents where it is larger than ``read_whole`` bytes.

    ``vocabulary_size`` is how many token ids the models know; a file made for more of them (a tokenizer may serve models with
    rows to spare) is read guardedly too. Raises :class:`hsd_viz.drafting.index.format.DatabaseError`.
    """
    try:
        small = Path(path).stat().st_size <= read_whole
    except OSError:
        small = True  # Index says what is wrong.
    if small:
        index = Index(path, vocabulary_hash)
        if vocabulary_size is None or index.header["vocabulary_size"] <= vocabulary_size:
            return index
    return GuardedIndex(path, vocabulary_hash, vocabulary_size=vocabulary_size)


class GuardedIndex(Index):
    """An open database file whose arrays may hold anything. Gives what :class:`Index` gives, a little later.

    Written for what differs: the search within a bucket is bounded, and a row is only given if it can be one (tokens below
    ``limit``, counts that do not exceed their total).
    """

    __slots__ = ("limit",)

    def __init__(
        self, path: str | Path, vocabulary_hash: str | None = None, *, vocabulary_size: int | None = None
    ) -> None:
        super().__init__(path, vocabulary_hash, whole=False)
        own = self.header["vocabulary_size"]
        self.limit = own if vocabulary_size is None else min(own, vocabulary_size)

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """As :meth:`Index.lookup`; ``None`` too where the row found is damaged."""
        starts, marks, bits, crc32, keys = self._starts, self._marks, self._bits, zlib.crc32, len(self._marks)
        size = len(tail)
        most = self.longest if longest is None or longest > self.longest else longest
        if size > most:
            tail, size = tail[size - most :], most
        packed = utf_32_le_encode(tail, "surrogatepass")[0]
        last = 4 * size - 4
        found = -1
        at = last - 4 if size > 1 else last
        while at >= 0:
            wanted = crc32(packed[at:])
            bucket = wanted >> bits
            i, end = starts[bucket], starts[bucket + 1]
            if end > keys:
                end = keys
            if end - i > MOST_IN_BUCKET:
                end = i + MOST_IN_BUCKET
            while i < end and marks[i] != wanted:
                i += 1
            if i < end:
                found, length = i, at
                if at == last:
                    break
                at -= 4
            elif at == last - 4:
                at = last
            else:
                break
        if found < 0:
            return None
        try:
            total, continuations = self._read(found)
        except DatabaseError:
            return None
        return size - (length >> 2), total, continuations

    def _read(self, key: int) -> tuple[int, list[tuple[int, int, None]]]:
        """What can be true of a row. Raises :class:`DatabaseError` where nothing of it can."""
        place = self._places[key]
        if (place >> 3) + 2 * (place & 7) < len(self._values):
            total, continuations = super()._read(key)
            # Rounding large counts keeps their order, so none passes its total.
            possible = [c for c in continuations if c[0] < self.limit and 0 < c[1] <= total]
            if possible:
                return total, possible
        raise DatabaseError(f"the database '{self.path.name}' is damaged: its row {key} cannot be one")
