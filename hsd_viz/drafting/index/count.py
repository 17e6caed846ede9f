"""Exact counts of what follows each key in a corpus, in numpy, one key length after the other.

A key of n tokens is represented by the number of its suffix of n - 1 tokens and its first token: exact, without
hashes. For each place of the corpus a file holds the number of the key that ends there, so that the corpus may be
larger than memory. Limits: about 100 bytes of memory per key that occurs ``least`` times and 50 bytes per
``part_tokens`` places, 8 bytes of temporary disk space per token, and 2^63 for keys of one length times the square of
the vocabulary size. A corpus of more places is read once per part.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.format import KEY_BYTES, MOST_CONTINUATIONS, Table, marks
from hsd_viz.words import check_range

#: Places processed together, and places counted together.
CHUNK, PART_TOKENS = 2**20, 2**25


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which keys and continuations to store.

    ``least``: minimum count of a key (its suffixes have at least the same count). ``least_continuation`` and
    ``least_share``: minimum count and share of a continuation, except the most frequent one. ``most``: continuations
    per key. ``max_bytes``: size of the file; the keys with the highest gains are stored.
    """

    least: int = 2
    least_continuation: int = 2
    least_share: float = 0.04
    most: int = 4
    max_bytes: int = 6_000_000


@dataclass(frozen=True, slots=True)
class Level(Table):
    """The keys of one length. ``parents`` are the numbers of their suffixes, ``gains`` the correct first continuations
    that they add to those of their suffixes: float64 [keys].
    """

    parents: np.ndarray
    gains: np.ndarray


#: Of one key length: pairs (key number * vocabulary size + following token, ascending) and their counts, int64.
Pairs = tuple[np.ndarray, np.ndarray]


class KeyCount:
    """Counts what follows each key of up to ``longest`` tokens in ``corpus``, with a temporary file in ``folder``; with
    ``per_document`` a continuation counts once per document.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: str | Path,
        vocabulary_size: int,
        longest: int,
        pruning: Pruning,
        per_document: bool = False,
        part_tokens: int = PART_TOKENS,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        check_range("the number of tokens of a part", part_tokens, 1)
        self._tokens, self._ends, self._begins = corpus.tokens, corpus.ends, np.append(0, corpus.ends[:-1])
        self._wide, self._longest, self._pruning = np.int64(vocabulary_size), longest, pruning
        self._per_document, self._part_tokens = per_document, part_tokens
        self._progress = progress or (lambda what, share: None)
        # By place, the number of the key that ends there, -1 without a key or without a token after it.
        self._numbers = np.memmap(Path(folder) / "numbers", np.int64, "w+", shape=self._tokens.shape)
        self._numbers[corpus.ends - 1] = -1
        self._live = len(self._tokens)

    def levels(self) -> list[Level]:
        """Return the keys of each length, the shortest first."""
        levels: list[Level] = []
        shorter: Pairs | None = None
        keys = np.zeros(1, dtype=np.int64)
        for length in range(1, self._longest + 1):
            if len(keys) * int(self._wide) ** 2 >= 2**63:
                raise ValueError("too many keys for this vocabulary: raise the minimum count")
            pairs, counts = self._count(length)
            if not len(pairs):
                break
            keys, owners = np.unique(pairs // self._wide, return_inverse=True)
            ends_at = self._number(length, keys)
            pairs = owners * self._wide + pairs % self._wide
            levels.append(self._level(length, keys // self._wide, ends_at, (pairs, counts), shorter))
            shorter = pairs, counts
        self._progress("counting", 1.0)
        # A key gains at least what its extensions gain, because a look-up passes through it.
        for level, longer in zip(levels[-2::-1], levels[:0:-1], strict=True):
            np.maximum.at(level.gains, longer.parents, longer.gains)
        return levels

    def _parts(self, length: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield the corpus in pieces, of counts per document whole documents: the places of the piece, those among them
        where a key of ``length`` tokens ends, and the keys, as number of the suffix * vocabulary size + first token.
        """
        start = 0
        while start < len(self._tokens):
            stop = min(start + min(CHUNK, self._part_tokens), len(self._tokens))
            if self._per_document:
                stop = int(self._ends[np.searchsorted(self._ends, stop)])
            numbers = self._numbers[start:stop]
            places = start + np.flatnonzero(numbers >= 0)
            document = np.searchsorted(self._ends, places, side="right")
            places = places[places - (length - 1) >= self._begins[document]]
            yield slice(start, stop), places, numbers[places - start] * self._wide + self._tokens[places - (length - 1)]
            start = stop

    def _count(self, length: int) -> Pairs:
        """Count (key, following token) for the keys that occur often enough, those of one remainder at a time, which
        bounds the memory.
        """
        passes, counted = max(1, -(-self._live // self._part_tokens)), []
        for remainder in range(passes):
            pieces: list[Pairs] = []
            for piece, places, keys in self._parts(length):
                done = (remainder + piece.start / len(self._tokens)) / passes
                self._progress("counting", (length - 1 + 0.8 * done) / self._longest)
                if passes > 1:
                    mine = keys % passes == remainder
                    places, keys = places[mine], keys[mine]
                pairs = keys * self._wide + self._tokens[places + 1]
                pieces.append(_joined([(pairs, self._new_in_document(pairs, places))]))
                if sum(len(values) for values, _ in pieces) > 2 * self._part_tokens:
                    pieces = [_joined(pieces)]
            pairs, counts = _joined(pieces)
            _, owners = np.unique(pairs // self._wide, return_inverse=True)
            enough = (np.bincount(owners, counts) >= self._pruning.least)[owners]
            counted.append((pairs[enough], counts[enough]))
        return _joined(counted)

    def _new_in_document(self, pairs: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return how much each pair counts: 1, or 0 if its document has had it before and repetitions do not count."""
        counts = np.ones(len(pairs), np.int64)
        if self._per_document:
            document = np.searchsorted(self._ends, places, side="right")
            order = np.lexsort((document, pairs))
            again = (np.diff(pairs[order]) == 0) & (np.diff(document[order]) == 0)
            counts[order[1:][again]] = 0
        return counts

    def _number(self, length: int, keys: np.ndarray) -> np.ndarray:
        """Write for each place of the corpus which of ``keys`` ends there; return a place where each ends."""
        ends_at, self._live = np.zeros(len(keys), dtype=np.int64), 0
        for piece, places, own in self._parts(length):
            at = np.searchsorted(keys, own)
            hit = np.append(keys, -1)[at] == own
            ends_at[at[hit]] = places[hit]
            self._live += int(hit.sum())
            self._numbers[piece] = -1
            self._numbers[places[hit]] = at[hit]
        return ends_at

    def _level(
        self, length: int, parents: np.ndarray, ends_at: np.ndarray, counted: Pairs, shorter: Pairs | None
    ) -> Level:
        (pairs, counts), wide = counted, self._wide
        owners, follower = pairs // wide, pairs % wide
        totals = np.bincount(owners, counts).astype(np.int64)
        stored, best = select_continuations(owners, follower, counts, totals, self._pruning)
        gains = counts[best].astype(float)
        if shorter is not None:
            # Expected hits added: how much more probable the first continuation is than by the shorter key.
            at = np.searchsorted(shorter[0], parents * wide + follower[best])
            gains -= totals * (shorter[1][at] / np.bincount(shorter[0] // wide, shorter[1])[parents])
        hashes = [
            marks(self._tokens[ends_at[k : k + CHUNK, None] + np.arange(1 - length, 1)])
            for k in range(0, len(ends_at), CHUNK)
        ]
        firsts = np.append(0, np.cumsum(np.bincount(owners[stored], minlength=len(parents))))
        lengths = np.full(len(parents), length)
        columns = (np.concatenate(hashes), lengths, totals, firsts, follower[stored], counts[stored])
        return Level(*columns, parents, gains)


def _joined(tallies: list[Pairs]) -> Pairs:
    """Return the sum of tallies: the values, ascending, and how often each occurs."""
    distinct, which = np.unique(np.concatenate([values for values, _ in tallies]), return_inverse=True)
    counts = np.bincount(which, np.concatenate([counts for _, counts in tallies]), minlength=len(distinct))
    return distinct, counts.astype(np.int64)


def select_continuations(
    owners: np.ndarray, follower: np.ndarray, counts: np.ndarray, totals: np.ndarray, pruning: Pruning
) -> tuple[np.ndarray, np.ndarray]:
    """Return which (key, continuation) pairs to store, most frequent first, and the most frequent of each key.
    ``owners`` (ascending from 0), ``follower`` and ``counts`` int [pairs]; ``totals`` int [keys]. Among equals the
    lower token comes first.
    """
    order = np.lexsort((follower, -counts, owners))
    rank = np.arange(len(order)) - np.searchsorted(owners, np.arange(len(totals)))[owners[order]]
    enough = (counts >= pruning.least_continuation) & (counts >= pruning.least_share * totals[owners])
    return order[((rank == 0) | enough[order]) & (rank < min(pruning.most, MOST_CONTINUATIONS))], order[rank == 0]


def select_keys(levels: list[Level], max_bytes: int, vocabulary_size: int) -> Table:
    """Return the keys with the highest gains that fit into ``max_bytes``; those without a gain are left out. Among
    equals shorter keys come first.
    """
    if not levels:
        none = np.zeros(0, dtype=np.int64)
        return Table(none.astype(np.uint32), none, none, np.zeros(1, dtype=np.int64), none, none)
    names = ("gains", "lengths", "marks", "totals", "tokens", "counts")
    gains, lengths, hashes, totals, tokens, counts = (
        np.concatenate([getattr(level, name) for level in levels]) for name in names
    )
    numbers = np.concatenate([np.diff(level.firsts) for level in levels])
    sizes = KEY_BYTES + (4 if vocabulary_size > 2**16 else 2) * (1 + 2 * numbers)
    order = np.lexsort((lengths, -gains))
    fits = order[np.cumsum(sizes[order]) <= max_bytes]
    keep = np.zeros(len(gains), dtype=bool)
    keep[fits] = gains[fits] > 0
    stored = np.repeat(keep, numbers)
    firsts = np.concatenate(([0], np.cumsum(numbers[keep])))
    return Table(hashes[keep], lengths[keep], totals[keep], firsts, tokens[stored], counts[stored])
