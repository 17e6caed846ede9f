"""Exact counts of what follows each key in a corpus, one key length after the other.

A key of n tokens is represented by the number of its suffix of n - 1 tokens and its first token: exact, without
hashes. For each place of the corpus a file holds the number of the key that ends there, so that the corpus may be
larger than memory. Limits: about 100 bytes of memory per key that occurs ``least`` times and 50 bytes per
``part_tokens`` places, 8 bytes of temporary disk space per token. A corpus of more places is read once per part.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.format import KEY_BYTES, MOST_CONTINUATIONS, Table, marks
from hsd_viz.words import check_range

#: Places processed together.
CHUNK = 2**20
#: Places counted together.
PART_TOKENS = 2**25

#: Distinct values (int64, ascending) and how often each occurs.
Tally = tuple[np.ndarray, np.ndarray]


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
class CountSettings:
    """What to count: keys of 1 to ``longest`` tokens; with ``per_document`` a continuation counts once per document."""

    vocabulary_size: int
    longest: int
    pruning: Pruning
    per_document: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """The keys of one length, by number. ``pairs`` (key number * vocabulary size + following token, ascending), their
    ``counts``, and ``totals`` by key: int64.
    """

    pairs: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True, slots=True)
class Level(Table):
    """The keys of one length. ``parents`` are the numbers of their suffixes, ``gains`` the correct first continuations
    that they add to those of their suffixes: float64 [keys].
    """

    parents: np.ndarray
    gains: np.ndarray


class KeyCount:
    """Counts what follows each key in ``corpus``, with a temporary file in ``folder``."""

    def __init__(
        self,
        corpus: Corpus,
        folder: str | Path,
        settings: CountSettings,
        *,
        part_tokens: int = PART_TOKENS,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        check_range("the number of tokens of a part", part_tokens, 1)
        self._tokens, self._ends, self._settings = corpus.tokens, corpus.ends, settings
        self._begins = np.concatenate(([0], corpus.ends[:-1]))
        self._wide = np.int64(settings.vocabulary_size)
        self._part_tokens, self._progress = part_tokens, progress or (lambda what, share: None)
        # By place, the number of the key that ends there, -1 without a key or without a token after it.
        self._numbers = np.memmap(Path(folder) / "numbers", np.int64, "w+", shape=self._tokens.shape)
        self._numbers[corpus.ends - 1] = -1

    def levels(self) -> list[Level]:
        """Return the keys of each length, the shortest first."""
        found: list[Level] = []
        shorter: Counted | None = None
        for length in range(1, self._settings.longest + 1):
            self._lengthen(length)
            keys, seen = self._tally(length - 1.0, lambda part: (part.numbers[part.places], None))
            keys = keys[seen >= self._settings.pruning.least]
            ends_at = self._number(keys)
            pairs, counts = self._tally(length - 0.5, self._pairs)
            totals = np.bincount(pairs // self._wide, counts, minlength=len(keys)).astype(np.int64)
            # Once per document, a key may count less often than it occurs.
            keep = totals >= self._settings.pruning.least
            if not keep.any():
                break
            if not keep.all():
                keys, ends_at, pairs, counts, totals = self._drop(keep, keys, ends_at, pairs, counts, totals)
            counted = Counted(pairs, counts, totals)
            found.append(self._level(length, keys // self._wide, ends_at, counted, shorter))
            shorter = counted
        self._progress("counting", 1.0)
        # A key gains at least what its extensions gain, because a look-up passes through it.
        for level, longer in zip(found[-2::-1], found[:0:-1], strict=True):
            np.maximum.at(level.gains, longer.parents, longer.gains)
        return found

    def _parts(self) -> Iterator["_Part"]:
        """Yield the corpus in pieces; of counts per document, pieces of whole documents."""
        start = 0
        while start < len(self._tokens):
            stop = min(start + min(CHUNK, self._part_tokens), len(self._tokens))
            if self._settings.per_document:
                stop = int(self._ends[np.searchsorted(self._ends, stop)])
            numbers = np.asarray(self._numbers[start:stop])
            yield _Part(start, numbers, np.flatnonzero(numbers >= 0))
            start = stop

    def _lengthen(self, length: int) -> None:
        """Add the token before it to the key at each place; no key begins before its document."""
        live = 0
        for part in self._parts():
            places = part.start + part.places
            document = np.searchsorted(self._ends, places, side="right")
            inside = places - (length - 1) >= self._begins[document]
            part.numbers[part.places[~inside]] = -1
            places, at = places[inside], part.places[inside]
            part.numbers[at] = part.numbers[at] * self._wide + self._tokens[places - (length - 1)]
            live += len(at)
        self._passes = max(1, -(-live // self._part_tokens))

    def _tally(self, done: float, values_of: Callable[["_Part"], tuple[np.ndarray, np.ndarray | None]]) -> Tally:
        """Count the values of all parts, those of one remainder at a time, which bounds the memory of a pass."""
        found = []
        for remainder in range(self._passes):
            pieces: list[Tally] = []
            for part in self._parts():
                share = (remainder + part.start / len(self._tokens)) / self._passes
                self._progress("counting", (done + share / 2) / self._settings.longest)
                values, counts = values_of(part)
                if self._passes > 1:
                    mine = values % self._passes == remainder
                    values, counts = values[mine], None if counts is None else counts[mine]
                pieces.append(_joined([(values, counts)]))
                if sum(len(piece[0]) for piece in pieces) > 2 * self._part_tokens:
                    pieces = [_joined(pieces)]
            found.append(_joined(pieces))
        values, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(values)
        return values[order], counts[order]

    def _pairs(self, part: "_Part") -> tuple[np.ndarray, np.ndarray | None]:
        """Return key number * vocabulary size + following token by place, or their counts of documents."""
        places = part.start + part.places
        pairs = part.numbers[part.places] * self._wide + self._tokens[places + 1]
        if not self._settings.per_document:
            return pairs, None
        distinct, which = np.unique(pairs, return_inverse=True)
        document = np.searchsorted(self._ends, places, side="right")
        once = np.unique(which * np.int64(len(self._ends)) + document) // len(self._ends)
        return distinct, np.bincount(once, minlength=len(distinct))

    def _number(self, keys: np.ndarray) -> np.ndarray:
        """Replace each key in the file by its place in ``keys``; return a place of the corpus where each ends."""
        ends_at = np.zeros(len(keys), dtype=np.int64)
        for part in self._parts():
            own = part.numbers[part.places]
            at = np.searchsorted(keys, own)
            hit = np.append(keys, -1)[at] == own
            ends_at[at[hit]] = part.start + part.places[hit]
            part.numbers[part.places] = np.where(hit, at, -1)
        return ends_at

    def _drop(self, keep: np.ndarray, keys, ends_at, pairs, counts, totals) -> tuple[np.ndarray, ...]:
        """Leave out the keys that are not to ``keep``, in the file, too."""
        renumbered = np.where(keep, np.cumsum(keep) - 1, -1)
        for part in self._parts():
            part.numbers[part.places] = renumbered[part.numbers[part.places]]
        kept = keep[pairs // self._wide]
        pairs = renumbered[pairs[kept] // self._wide] * self._wide + pairs[kept] % self._wide
        return keys[keep], ends_at[keep], pairs, counts[kept], totals[keep]

    def _level(
        self, length: int, parents: np.ndarray, ends_at: np.ndarray, counted: Counted, shorter: Counted | None
    ) -> Level:
        owners, follower, counts = counted.pairs // self._wide, counted.pairs % self._wide, counted.counts
        stored, best = select_continuations(owners, follower, counts, counted.totals, self._settings.pruning)
        gains = counts[best].astype(float)
        if shorter is not None:
            # Expected hits added: how much more probable the first continuation is than by the shorter key.
            at = np.searchsorted(shorter.pairs, parents * self._wide + follower[best])
            gains -= counted.totals * (shorter.counts[at] / shorter.totals[parents])
        hashes = [
            marks(self._tokens[ends_at[k : k + CHUNK, None] + np.arange(1 - length, 1)])
            for k in range(0, len(ends_at), CHUNK)
        ]
        firsts = np.concatenate(([0], np.cumsum(np.bincount(owners[stored], minlength=len(parents)))))
        lengths = np.full(len(parents), length)
        columns = (np.concatenate(hashes), lengths, counted.totals, firsts, follower[stored], counts[stored])
        return Level(*columns, parents, gains)


@dataclass(frozen=True, slots=True)
class _Part:
    """Places of the corpus from ``start``: their key ``numbers``, a view of the file, and ``places`` with a key."""

    start: int
    numbers: np.ndarray
    places: np.ndarray


def _joined(tallies: list[tuple[np.ndarray, np.ndarray | None]]) -> Tally:
    """Return the sum of tallies; without counts, each value counts once."""
    values = np.concatenate([values for values, _ in tallies])
    counts = [np.ones(len(values), np.int64) if counts is None else counts for values, counts in tallies]
    distinct, which = np.unique(values, return_inverse=True)
    return distinct, np.bincount(which, np.concatenate(counts), minlength=len(distinct)).astype(np.int64)


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
