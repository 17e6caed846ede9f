"""Exact counts of what follows each key in a corpus.

Keys that end with the same token are counted together, in numpy: as their suffixes are among them,
the best keys of a few tokens at a time are all that is kept. Limits: about 80 bytes of memory for
each of :data:`PART_TOKENS` places (or those of the most frequent token, if more) and each key of
the file; and 2^63 for the keys of one length times the square of the vocabulary size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.format import KEY_BYTES, MOST_CONTINUATIONS, KeyTable, marks
from hsd_viz.errors import UserError
from hsd_viz.terminal import Progress, ignore_progress

#: Places searched, and places counted at a time.
CHUNK = 2**20
PART_TOKENS = 2**22


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which keys and continuations to store.

    Attributes:
        least: the minimum count of a key.
        least_continuation: the minimum count of a continuation that is not the most frequent one.
        least_share: its minimum share.
        most: the most continuations per key.
        max_bytes: the size of the file, which takes the keys with the highest gains.
    """

    least: int = 2
    least_continuation: int = 2
    least_share: float = 0.04
    most: int = 4
    max_bytes: int = 6_000_000


def count_keys(
    corpus: Corpus,
    vocabulary_size: int,
    longest: int,
    pruning: Pruning,
    per_document: bool = False,
    part_tokens: int = PART_TOKENS,
    progress: Progress = ignore_progress,
) -> KeyTable:
    """Count what follows each key of up to ``longest`` tokens, and return the keys that ``pruning``
    keeps; with ``per_document`` a continuation counts once per document.
    """
    counter = _Counter(corpus, vocabulary_size, longest, pruning, per_document)
    until = np.cumsum(_frequencies(corpus.tokens, vocabulary_size))
    kept: list[KeyTable] = []
    low = 0
    done = 0
    while low < vocabulary_size:
        # The keys that end with the tokens from ``low`` to ``high``: about ``part_tokens`` places.
        high = max(low + 1, int(np.searchsorted(until, done + part_tokens, side="right")))
        if until[high - 1] > done:
            kept += counter.tables(_places_of(corpus.tokens, low, high))
            # Fewer than these may fit into the file: the others are dropped from time to time.
            if 4 * sum(len(table.tokens) for table in kept) > pruning.max_bytes:
                kept = [select_keys(kept, pruning.max_bytes, vocabulary_size)]
        low = high
        done = int(until[high - 1])
        progress(done, len(corpus.tokens), "counting")
    return select_keys(kept, pruning.max_bytes, vocabulary_size)


def _frequencies(tokens: np.ndarray, vocabulary_size: int) -> np.ndarray:
    """Return how often each token occurs, int [vocabulary]."""
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for start in range(0, len(tokens), CHUNK):
        counts += np.bincount(tokens[start : start + CHUNK], minlength=vocabulary_size)
    return counts


def _places_of(tokens: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the places of the tokens from ``low`` to ``high`` (exclusive), ascending."""
    places = []
    for start in range(0, len(tokens), CHUNK):
        piece = tokens[start : start + CHUNK]
        places.append(start + np.flatnonzero((piece >= low) & (piece < high)))
    return np.concatenate(places)


class _Places(NamedTuple):
    """Places of a corpus at which a key ends and a token follows.

    Attributes:
        at: the places, int64 [places].
        document: the document of each, int64 [places].
        before: the tokens of the document before each, at most the longest key, int8 [places].
        shorter: the number of the key that ends there and is one token shorter than those that are
            being counted, int32 [places]; 0 for the empty one.
    """

    at: np.ndarray
    document: np.ndarray
    before: np.ndarray
    shorter: np.ndarray

    @classmethod
    def of(cls, corpus: Corpus, at: np.ndarray, longest: int) -> Self:
        """Return places with their documents."""
        document = np.searchsorted(corpus.ends, at, side="right")
        begins = np.append(0, corpus.ends)[document]
        before = np.minimum(at - begins, longest).astype(np.int8)
        places = cls(at, document, before, np.zeros(len(at), np.int32))
        return places.where(at + 1 < corpus.ends[document])

    def where(self, mask: np.ndarray) -> Self:
        """Return the places of a mask, bool [places]."""
        return self._replace(
            at=self.at[mask],
            document=self.document[mask],
            before=self.before[mask],
            shorter=self.shorter[mask],
        )


class _Level(NamedTuple):
    """Counted keys of one length that occur often enough; their numbers are their rows.

    Attributes:
        codes: the number of each key's suffix without the first token, times the size of the
            vocabulary, plus that token: int64 [keys], ascending.
        totals: how often each occurs with a token after it, int64 [keys].
        owners: the key of each pair of a key and a token after it, int64 [pairs], ascending.
        followers: that token, int64 [pairs], ascending for each key.
        counts: how often they occur, int64 [pairs].
    """

    codes: np.ndarray
    totals: np.ndarray
    owners: np.ndarray
    followers: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts the keys that end at places of a corpus.

    A key is represented by the number of its suffix without the first token, and that token,
    without hashes.

    Attributes:
        corpus: the corpus.
        vocabulary_size: of its tokens.
        longest: the tokens of the longest keys.
        pruning: which keys and continuations to keep.
        per_document: whether a continuation counts once per document.
    """

    corpus: Corpus
    vocabulary_size: int
    longest: int
    pruning: Pruning
    per_document: bool

    def tables(self, at: np.ndarray) -> list[KeyTable]:
        """Return the keys of each length, the shortest first, that end at some places, which are
        all those of some tokens.
        """
        places = _Places.of(self.corpus, at, self.longest)
        shorter: _Level | None = None
        tables: list[KeyTable] = []
        suffixes: list[np.ndarray] = []  # of each length, the row of each key's suffix
        for length in range(1, self.longest + 1):
            places = places.where(places.before >= length - 1)
            if not len(places.at):
                break
            level, places = self._count(places, length)
            if not len(level.codes):
                break
            tables.append(self._table(level, shorter, places, length))
            suffixes.append(level.codes // self.vocabulary_size)
            shorter = level
        # A key gains at least what its extensions gain, because a look-up passes through it.
        for k in range(len(tables) - 1, 0, -1):
            np.maximum.at(tables[k - 1].gains, suffixes[k], tables[k].gains)
        return tables

    def _count(self, places: _Places, length: int) -> tuple[_Level, _Places]:
        """Count the keys of a length that end at some places; return those that occur often enough,
        and their places with the numbers of these keys as ``shorter``.

        Raises:
            UserError: if the numbers of pairs do not fit into 64 bits.
        """
        if (int(places.shorter.max()) + 1) * self.vocabulary_size**2 >= 2**63:
            raise UserError("too many keys for this vocabulary: raise the minimum count")
        tokens = self.corpus.tokens
        wide = np.int64(self.vocabulary_size)
        codes_of_places = places.shorter * wide + tokens[places.at - (length - 1)]
        pairs, pair_of_place = np.unique(
            codes_of_places * wide + tokens[places.at + 1], return_inverse=True
        )
        counts = np.bincount(self._occurrences(pair_of_place, places.document))
        codes, owners = np.unique(pairs // wide, return_inverse=True)
        totals = np.bincount(owners, counts).astype(np.int64)
        enough = totals >= self.pruning.least
        number = (np.cumsum(enough) - 1).astype(np.int32)
        has_key = enough[owners]
        level = _Level(
            codes=codes[enough],
            totals=totals[enough],
            owners=number[owners[has_key]].astype(np.int64),
            followers=pairs[has_key] % wide,
            counts=counts[has_key],
        )
        numbered = places._replace(shorter=number[owners][pair_of_place])
        return level, numbered.where(has_key[pair_of_place])

    def _occurrences(self, pair_of_place: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Return the pair of each occurrence that counts, int [occurrences]."""
        if not self.per_document:
            return pair_of_place
        documents = len(self.corpus.ends)
        return np.unique(pair_of_place * np.int64(documents) + document) // documents

    def _table(
        self, level: _Level, shorter: _Level | None, places: _Places, length: int
    ) -> KeyTable:
        """Return the keys of a level as rows.

        Args:
            level: the keys.
            shorter: those that are one token shorter; ``None``: there are none.
            places: where the keys end, with their numbers.
            length: their tokens.
        """
        keys = len(level.codes)
        stored, best = select_continuations(
            level.owners, level.followers, level.counts, level.totals, self.pruning
        )
        an_end = np.zeros(keys, np.int64)
        an_end[places.shorter] = places.at
        return KeyTable(
            marks=marks(self.corpus.tokens[an_end + k] for k in range(1 - length, 1)),
            lengths=np.full(keys, length),
            totals=level.totals,
            numbers=np.bincount(level.owners[stored], minlength=keys),
            gains=self._gains(level, shorter, best),
            tokens=level.followers[stored],
            counts=level.counts[stored],
        )

    def _gains(self, level: _Level, shorter: _Level | None, best: np.ndarray) -> np.ndarray:
        """Return the expected hits that each key adds to those of its suffix: how much more
        probable its first continuation is than by the suffix.

        Args:
            level: the keys.
            shorter: those that are one token shorter; ``None``: there are none.
            best: the pair of each key with the most frequent continuation, int [keys].
        """
        gains = level.counts[best].astype(float)
        if shorter is None:
            return gains
        wide = np.int64(self.vocabulary_size)
        suffix = level.codes // wide
        pairs = shorter.owners * wide + shorter.followers
        pair_of_suffix = np.searchsorted(pairs, suffix * wide + level.followers[best])
        return gains - level.totals * (shorter.counts[pair_of_suffix] / shorter.totals[suffix])


def select_continuations(
    owners: np.ndarray,
    follower: np.ndarray,
    counts: np.ndarray,
    totals: np.ndarray,
    pruning: Pruning,
) -> tuple[np.ndarray, np.ndarray]:
    """Return which (key, continuation) pairs to store, most frequent first, and the most frequent
    of each key. ``owners`` (ascending from 0), ``follower`` and ``counts`` int [pairs]; ``totals``
    int [keys]. Among equals the lower token comes first.
    """
    order = np.lexsort((follower, -counts, owners))
    first_of_key = np.searchsorted(owners, np.arange(len(totals)))
    rank = np.arange(len(order)) - first_of_key[owners[order]]
    often = counts >= pruning.least_continuation
    likely = counts >= pruning.least_share * totals[owners]
    is_best = rank == 0
    is_stored = is_best | (often & likely)[order]
    has_space = rank < min(pruning.most, MOST_CONTINUATIONS)
    return order[is_stored & has_space], order[is_best]


def select_keys(tables: Sequence[KeyTable], max_bytes: int, vocabulary_size: int) -> KeyTable:
    """Return the keys with the highest gains that fit into ``max_bytes``; those without a gain are
    left out. Among equals shorter keys come first.
    """
    if not tables:
        tables = [KeyTable.empty()]
    columns = [np.concatenate(parts) for parts in zip(*tables, strict=True)]
    whole = KeyTable(*columns)
    value_bytes = 4 if vocabulary_size > 2**16 else 2
    # A key has its total, and a token and a count for each continuation.
    sizes = KEY_BYTES + value_bytes * (1 + 2 * whole.numbers)
    order = np.lexsort((whole.lengths, -whole.gains))
    fits = order[np.cumsum(sizes[order]) <= max_bytes]
    keep = np.zeros(len(whole.gains), dtype=bool)
    keep[fits] = whole.gains[fits] > 0
    return whole.where(keep)
