"""Count exactly which tokens follow each key in a corpus, in numpy.

All keys that end with the same token are counted together. Their suffixes end with it, too, so the
keys of a few last tokens can be counted and pruned at a time.

Counting takes about 80 bytes of memory for each of :data:`PART_TOKENS` positions (or each position
of the most frequent token, if there are more), and for each key of the file. The number of keys of
a length, times the square of the vocabulary size, must be below 2^63.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.format import KEY_BYTES, MAX_CONTINUATIONS, KeyTable, marks
from hsd_viz.errors import UserError
from hsd_viz.terminal import Progress, ignore_progress

#: The number of positions that are searched at a time.
CHUNK = 2**20
#: The number of positions that are counted at a time.
PART_TOKENS = 2**22


@dataclass(frozen=True, slots=True)
class Pruning:
    """The conditions under which keys and continuations are stored.

    Attributes:
        least: the minimum count of a key.
        least_continuation: the minimum count of a continuation. The most frequent continuation of
            a key is always stored.
        least_share: the minimum share of a continuation that is not the most frequent one.
        most: the largest number of continuations per key.
        max_bytes: the largest size of the file in bytes; keys with the highest gains are stored.
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
    """Count the tokens that follow each key of up to ``longest`` tokens.

    Args:
        corpus: the corpus.
        vocabulary_size: the size of the vocabulary.
        longest: the length of the longest keys in tokens.
        pruning: the conditions for keys and continuations.
        per_document: whether a continuation counts at most once per document.
        part_tokens: the number of positions that are counted at a time.
        progress: a function that is called with the progress.

    Returns:
        The keys that meet the conditions.
    """
    counter = _Counter(corpus, vocabulary_size, longest, pruning, per_document)
    until = np.cumsum(_frequencies(corpus.tokens, vocabulary_size))
    tables: list[KeyTable] = []
    low = 0
    done = 0
    while low < vocabulary_size:
        # Count the keys that end with a token from low to high: about part_tokens positions.
        high = max(low + 1, int(np.searchsorted(until, done + part_tokens, side="right")))
        if until[high - 1] > done:
            tables += counter.tables(_places_of(corpus.tokens, low, high))
            # Drop keys that cannot fit into the file from time to time, to limit the memory.
            if 4 * sum(len(table.tokens) for table in tables) > pruning.max_bytes:
                tables = [select_keys(tables, pruning.max_bytes, vocabulary_size)]
        low = high
        done = int(until[high - 1])
        progress(done, len(corpus.tokens), "counting")
    return select_keys(tables, pruning.max_bytes, vocabulary_size)


def _frequencies(tokens: np.ndarray, vocabulary_size: int) -> np.ndarray:
    """Return the number of occurrences of each token, int [vocabulary]."""
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for start in range(0, len(tokens), CHUNK):
        counts += np.bincount(tokens[start : start + CHUNK], minlength=vocabulary_size)
    return counts


def _places_of(tokens: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the ascending positions of the tokens from ``low`` to ``high`` (exclusive)."""
    places = []
    for start in range(0, len(tokens), CHUNK):
        piece = tokens[start : start + CHUNK]
        places.append(start + np.flatnonzero((piece >= low) & (piece < high)))
    return np.concatenate(places)


class _Places(NamedTuple):
    """Positions in a corpus at which a key ends and a token follows.

    Attributes:
        at: the positions, int64 [positions].
        document: the index of each position's document, int64 [positions].
        before: the number of tokens in the document before each position, at most the length of the
            longest key, int8 [positions].
        shorter: the number of the key that ends at each position and is one token shorter than the
            keys that are being counted, int32 [positions]; 0 for the empty key.
    """

    at: np.ndarray
    document: np.ndarray
    before: np.ndarray
    shorter: np.ndarray

    @classmethod
    def of(cls, corpus: Corpus, at: np.ndarray, longest: int) -> Self:
        """Return the positions ``at`` that a token follows in their document."""
        document = np.searchsorted(corpus.ends, at, side="right")
        begins = np.append(0, corpus.ends)[document]
        before = np.minimum(at - begins, longest).astype(np.int8)
        places = cls(at, document, before, np.zeros(len(at), np.int32))
        return places.where(at + 1 < corpus.ends[document])

    def where(self, mask: np.ndarray) -> Self:
        """Return the positions selected by a mask, bool [positions]."""
        return self._replace(
            at=self.at[mask],
            document=self.document[mask],
            before=self.before[mask],
            shorter=self.shorter[mask],
        )


class _Level(NamedTuple):
    """The keys of a length that occur often enough. The number of a key is its row.

    A pair is a key and a token that follows it.

    Attributes:
        codes: the code of each key: the number of its suffix without the first token, times the
            vocabulary size, plus the first token; int64 [keys], ascending.
        totals: the number of occurrences of each key that a token follows, int64 [keys].
        owners: the key of each pair, int64 [pairs], ascending.
        followers: the token of each pair, int64 [pairs], ascending for each key.
        counts: the count of each pair, int64 [pairs].
    """

    codes: np.ndarray
    totals: np.ndarray
    owners: np.ndarray
    followers: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, slots=True)
class _Counter:
    """A counter of the keys that end at given positions of a corpus.

    A key is represented without hashing, by its first token and the number of its remaining suffix.

    Attributes:
        corpus: the corpus.
        vocabulary_size: the size of the vocabulary.
        longest: the length of the longest keys in tokens.
        pruning: the conditions for keys and continuations.
        per_document: whether a continuation counts at most once per document.
    """

    corpus: Corpus
    vocabulary_size: int
    longest: int
    pruning: Pruning
    per_document: bool

    def tables(self, at: np.ndarray) -> list[KeyTable]:
        """Return the keys of each length, the shortest first, that end at the positions ``at``.

        These must be all positions of one or more tokens.
        """
        places = _Places.of(self.corpus, at, self.longest)
        shorter: _Level | None = None
        tables: list[KeyTable] = []
        suffixes: list[np.ndarray] = []  # for each length, the row of each key's suffix
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
        """Count the keys of a length that end at the given positions.

        Returns:
            The keys that occur often enough, and their positions, with the numbers of these keys as
            ``shorter``.

        Raises:
            UserError: if the codes of pairs do not fit into 64 bits.
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
        is_frequent = totals >= self.pruning.least
        number = (np.cumsum(is_frequent) - 1).astype(np.int32)
        has_key = is_frequent[owners]
        level = _Level(
            codes=codes[is_frequent],
            totals=totals[is_frequent],
            owners=number[owners[has_key]].astype(np.int64),
            followers=pairs[has_key] % wide,
            counts=counts[has_key],
        )
        numbered = places._replace(shorter=number[owners][pair_of_place])
        return level, numbered.where(has_key[pair_of_place])

    def _occurrences(self, pair_of_place: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Return the pair of each occurrence to count, int [occurrences]."""
        if not self.per_document:
            return pair_of_place
        documents = len(self.corpus.ends)
        return np.unique(pair_of_place * np.int64(documents) + document) // documents

    def _table(
        self, level: _Level, shorter: _Level | None, places: _Places, length: int
    ) -> KeyTable:
        """Return the keys of a level as a table.

        Args:
            level: the keys.
            shorter: the keys that are one token shorter; ``None`` for keys of one token.
            places: the positions at which the keys end, with the numbers of the keys.
            length: the length of the keys in tokens.
        """
        keys = len(level.codes)
        stored, best = select_continuations(
            level.owners, level.followers, level.counts, level.totals, self.pruning
        )
        last_position = np.zeros(keys, np.int64)
        last_position[places.shorter] = places.at
        return KeyTable(
            marks=marks(self.corpus.tokens[last_position + k] for k in range(1 - length, 1)),
            lengths=np.full(keys, length),
            totals=level.totals,
            numbers=np.bincount(level.owners[stored], minlength=keys),
            gains=self._gains(level, shorter, best),
            tokens=level.followers[stored],
            counts=level.counts[stored],
        )

    def _gains(self, level: _Level, shorter: _Level | None, best: np.ndarray) -> np.ndarray:
        """Return the gain of each key: the expected hits of its first continuation beyond those
        that its suffix predicts.

        Args:
            level: the keys.
            shorter: the keys that are one token shorter; ``None`` for keys of one token.
            best: the pair with the most frequent continuation of each key, int [keys].
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
    """Select the pairs of a key and a continuation to store.

    Of equally frequent continuations the lower token comes first.

    Args:
        owners: the key of each pair, int [pairs], ascending from 0.
        follower: the continuation of each pair, int [pairs].
        counts: the count of each pair, int [pairs].
        totals: the count of each key, int [keys].
        pruning: the conditions for continuations.

    Returns:
        The pairs to store, the most frequent of each key first, and the most frequent pair of each
        key.
    """
    order = np.lexsort((follower, -counts, owners))
    first_of_key = np.searchsorted(owners, np.arange(len(totals)))
    rank = np.arange(len(order)) - first_of_key[owners[order]]
    often = counts >= pruning.least_continuation
    likely = counts >= pruning.least_share * totals[owners]
    is_best = rank == 0
    is_stored = is_best | (often & likely)[order]
    has_space = rank < min(pruning.most, MAX_CONTINUATIONS)
    return order[is_stored & has_space], order[is_best]


def select_keys(tables: Sequence[KeyTable], max_bytes: int, vocabulary_size: int) -> KeyTable:
    """Return the keys with the highest gains that fit into ``max_bytes``.

    Keys without a gain are left out. Of equal gains the shorter key comes first.
    """
    if not tables:
        tables = [KeyTable.empty()]
    columns = [np.concatenate(parts) for parts in zip(*tables, strict=True)]
    table = KeyTable(*columns)
    value_bytes = 4 if vocabulary_size > 2**16 else 2
    # The values of a key are its total, and a token and a count for each continuation.
    sizes = KEY_BYTES + value_bytes * (1 + 2 * table.numbers)
    order = np.lexsort((table.lengths, -table.gains))
    fits = order[np.cumsum(sizes[order]) <= max_bytes]
    keep = np.zeros(len(table.gains), dtype=bool)
    keep[fits] = table.gains[fits] > 0
    return table.where(keep)
