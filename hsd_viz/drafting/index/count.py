"""Exact counts of what follows each key in a corpus larger than memory: part by part, with the results on disk.

A part contains all places whose keys end in the same few tokens, so each key is in one part. If a single key has more
places than a part may have (a line end, for example), that key is counted in one pass over its places, which are then
divided by the token before it. Memory, regardless of the corpus: about 280 bytes for each of ``part_tokens`` places,
100 bytes per token id and 40 bytes per document. Temporary disk space: 10 to 12 bytes per token and about 40 bytes per
counted key.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.format import MOST_CONTINUATIONS, marks
from hsd_viz.drafting.index.select import Candidates, Level
from hsd_viz.words import check_range

#: Most places processed together in a pass over all of them.
CHUNK = 2**20
#: Places counted together.
PART_TOKENS = 1_000_000

#: Returns an iterator over the places (int64, ascending) of a corpus or a part of it, in pieces.
Chunks = Callable[[], Iterator[np.ndarray]]


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
    """Keys of ``length`` tokens that are counted, by number. ``pairs`` (key number * vocabulary size + following token,
    ascending), their ``counts``, and ``totals`` by key: int64.
    """

    length: int
    pairs: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


class ExternalCount:
    """Counts what follows each key in ``corpus``, with temporary files in ``folder``."""

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
        self.candidates = Candidates(folder)
        self._tokens, self._ends = corpus.tokens, corpus.ends
        self._begins = np.concatenate(([0], corpus.ends[:-1])) if len(corpus.ends) else corpus.ends
        self._folder, self._settings, self._part_tokens = Path(folder), settings, part_tokens
        self._size = settings.vocabulary_size
        self._progress, self._done = progress, 0
        # Places processed together: as few as a part has, but enough to be fast.
        self._chunk = min(CHUNK, max(part_tokens, 4096))

    def run(self) -> Candidates:
        """Count the corpus."""
        if len(self._tokens):
            self._visit(self._everywhere, None)
        return self.candidates

    def _everywhere(self) -> Iterator[np.ndarray]:
        """Yield the places of the corpus that have a token after them in their document."""
        for start in range(0, len(self._tokens), self._chunk):
            places = np.arange(start, min(start + self._chunk, len(self._tokens)))
            yield places[self._ends[self._document(places)] > places + 1]

    def _document(self, places: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._ends, places, side="right")

    def _visit(self, chunks: Chunks, suffix: Counted | None) -> float:
        """Count every extension of ``suffix`` at these places; return the highest gain of those one token longer."""
        depth = suffix.length if suffix else 0
        best = -np.inf
        if depth == self._settings.longest:
            return best
        for places in self._parts(chunks, depth):
            if len(places) > self._part_tokens:
                best = max(best, self._count_one(places, suffix))
                continue
            levels = count_part(self._tokens, self._ends, np.array(places), self._settings, suffix)
            if levels:
                best = max(best, float(levels[0].gains.max()))
                self.candidates.add(levels)
            self._report(len(places))
        return best

    def _report(self, places: int) -> None:
        self._done += places
        if self._progress:
            self._progress("counting", min(1.0, self._done / max(1, len(self._tokens) - len(self._ends))))

    def _parts(self, chunks: Chunks, depth: int) -> Iterator[np.ndarray]:
        """Divide places by the token ``depth`` before each into parts of up to ``part_tokens`` or of one token."""

        def with_older() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for places in chunks():
                inside = places[places - depth >= self._begins[self._document(places)]] if depth else places
                yield inside, self._tokens[inside - depth]

        frequencies = np.zeros(self._size, dtype=np.int64)
        for _, older in with_older():
            frequencies += np.bincount(older, minlength=self._size)
        part_of, sizes = divide(frequencies, self._part_tokens)
        if not len(sizes):
            return
        ends = np.cumsum(sizes)
        cursors = ends - sizes
        path = self._folder / f"places{depth}"
        path.unlink(missing_ok=True)
        divided = np.memmap(path, dtype=np.int64, mode="w+", shape=int(ends[-1]))
        for places, older in with_older():
            which = part_of[older]
            order = np.argsort(which, kind="stable")
            bounds = np.searchsorted(which[order], np.arange(len(sizes) + 1))
            for part in np.flatnonzero(np.diff(bounds)):
                number = bounds[part + 1] - bounds[part]
                divided[cursors[part] : cursors[part] + number] = places[order[bounds[part] : bounds[part + 1]]]
                cursors[part] += number
        for size, end in zip(sizes, ends, strict=True):
            yield divided[end - size : end]
        del divided
        path.unlink()

    def _count_one(self, places: np.ndarray, suffix: Counted | None) -> float:
        """Count the one key that ends at all of these places in one pass, then its extensions; return its gain."""
        length = suffix.length + 1 if suffix else 1

        def chunks() -> Iterator[np.ndarray]:
            for start in range(0, len(places), self._chunk):
                yield np.array(places[start : start + self._chunk])

        counts = np.zeros(self._size, dtype=np.int64)
        # The last document in which each token was a follower.
        seen = np.full(self._size, -1, dtype=np.int64)
        for piece in chunks():
            after = self._tokens[piece + 1].astype(np.int64)
            if self._settings.per_document:
                document = self._document(piece)
                pairs = np.unique(document * np.int64(self._size) + after)
                document, after = pairs // self._size, pairs % self._size
                new = seen[after] != document
                seen[after] = document  # ascending: the last one stays
                after = after[new]
            counts += np.bincount(after, minlength=self._size)
        followers = np.flatnonzero(counts)
        known = Counted(length, followers, counts[followers], np.array([counts.sum()]))
        if known.totals[0] < self._settings.pruning.least:
            self._report(len(places))
            return -np.inf
        if length == self._settings.longest:
            self._report(len(places))
        key, only = self._tokens[int(places[0]) + np.arange(1 - length, 1)], np.zeros(1, dtype=np.int64)
        level = _level(marks(key[None, :]), known, only == 0, only, suffix, self._settings)
        level.gains[0] = max(level.gains[0], self._visit(chunks, known))
        self.candidates.add([level])
        return float(level.gains[0])


def divide(frequencies: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Group consecutive tokens into parts of at most ``most`` places; a token with more places is a part by itself.
    Returns ``part_of`` int64 [tokens] and ``sizes`` int64 [parts].
    """
    part_of = np.zeros(len(frequencies), dtype=np.int64)
    sizes: list[int] = []
    for token in np.flatnonzero(frequencies):
        number = int(frequencies[token])
        if sizes and sizes[-1] + number <= most:
            sizes[-1] += number
        else:
            sizes.append(number)
        part_of[token] = len(sizes) - 1
    return part_of, np.array(sizes, dtype=np.int64)


def count_part(
    tokens: np.ndarray, ends: np.ndarray, places: np.ndarray, settings: CountSettings, suffix: Counted | None = None
) -> list[Level]:
    """Return the levels of all keys that end at ``places`` (int64) of the corpus ``tokens``.

    ``ends`` int64 [documents] are the ends of the documents, which keys do not cross. ``suffix`` is a key that ends at
    all these places and is already counted: the first level is the next longer one. A key is represented by the number
    of its suffix and one more token: exact, without hashes.
    """
    wide = np.int64(settings.vocabulary_size)
    document = np.searchsorted(ends, places, side="right")
    begin = np.concatenate(([0], ends))[document]
    keys = np.zeros(len(places), dtype=np.int64)
    levels: list[Level] = []
    parents_of: list[np.ndarray] = []
    shorter = suffix
    for n in range(suffix.length + 1 if suffix else 1, settings.longest + 1):
        inside = places - (n - 1) >= begin
        places, document, begin, keys = (a[inside] for a in (places, document, begin, keys))
        older = tokens[places - (n - 1)].astype(np.int64)
        grown, first, number = np.unique(keys * wide + older, return_index=True, return_inverse=True)
        after = tokens[places + 1].astype(np.int64)
        pairs, counts = _count_pairs(number * wide + after, document if settings.per_document else None)
        totals = np.bincount(pairs // wide, counts, minlength=len(grown)).astype(np.int64)
        keep = totals >= settings.pruning.least
        if not keep.any():
            break
        parents, ends_at = grown // wide, places[first[keep]]
        hashes = marks(tokens[ends_at[:, None] + np.arange(1 - n, 1)])
        levels.append(_level(hashes, Counted(n, pairs, counts, totals), keep, parents, shorter, settings))
        parents_of.append(parents[keep])
        renumber, kept = np.cumsum(keep) - 1, keep[pairs // wide]
        pairs = renumber[pairs[kept] // wide] * wide + pairs[kept] % wide
        shorter = Counted(n, pairs, counts[kept], totals[keep])
        on = keep[number]
        places, document, begin, keys = places[on], document[on], begin[on], renumber[number[on]]
    # A key gains at least what its extensions gain, because a look-up passes through it.
    for k in range(len(levels) - 1, 0, -1):
        np.maximum.at(levels[k - 1].gains, parents_of[k], levels[k].gains)
    return levels


def _level(
    hashes: np.ndarray,
    found: Counted,
    keep: np.ndarray,
    parents: np.ndarray,
    shorter: Counted | None,
    settings: CountSettings,
) -> Level:
    """Return the level of the keys ``found`` where ``keep``; ``parents`` are their suffixes among ``shorter``."""
    wide = np.int64(settings.vocabulary_size)
    owners, follower, counts, totals = found.pairs // wide, found.pairs % wide, found.counts, found.totals
    stored, best = select_continuations(owners, follower, counts, totals, settings.pruning)
    stored = stored[keep[owners[stored]]]
    gains = counts[best].astype(float)
    if shorter is not None:
        # Expected hits added: how much more probable the first continuation is than by the shorter key.
        at = np.searchsorted(shorter.pairs, parents * wide + follower[best])
        gains -= totals * (shorter.counts[at] / shorter.totals[parents])
    numbers = np.bincount(owners[stored], minlength=len(keep))[keep]
    firsts = np.concatenate(([0], np.cumsum(numbers)))
    lengths = np.full(len(numbers), found.length)
    return Level(hashes, lengths, totals[keep], firsts, follower[stored], counts[stored], gains[keep])


def _count_pairs(pairs: np.ndarray, document: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ``pairs`` (int64 [places]) and their counts, once per ``document`` if given."""
    distinct, which = np.unique(pairs, return_inverse=True)
    if document is not None:
        documents = np.int64(document.max(initial=0) + 1)
        which = np.unique(which * documents + document) // documents
    return distinct, np.bincount(which, minlength=len(distinct))


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
