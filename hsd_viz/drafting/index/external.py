"""External counting: exact counts of a corpus larger than memory, part by part, with the results on disk.

A part contains all places whose keys end in the same few tokens, so each key is in one part. If a single key has more
places than a part may have (a line end, for example), that key is counted in one pass over its places, which are then
divided by the token before it. Memory, regardless of the corpus: about 280 bytes for each of ``part_tokens`` places,
100 bytes per token id and 40 bytes per document. Temporary disk space: 10 to 12 bytes per token and about 40 bytes per
counted key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus
from hsd_viz.drafting.index.count import CountSettings, Known, Level, count_part, select_continuations
from hsd_viz.drafting.index.format import marks
from hsd_viz.drafting.index.select import Candidates
from hsd_viz.words import check_range

#: Most places processed together in a pass over all of them.
CHUNK = 2**20
#: Places counted together.
PART_TOKENS = 1_000_000

#: Returns an iterator over the places (int64, ascending) of a corpus or a part of it, in pieces.
Chunks = Callable[[], Iterator[np.ndarray]]


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

    def _visit(self, chunks: Chunks, suffix: Known | None) -> float:
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

    def _count_one(self, places: np.ndarray, suffix: Known | None) -> float:
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
        known = Known(length, followers, counts[followers])
        if known.total < self._settings.pruning.least:
            self._report(len(places))
            return -np.inf
        owners, total = np.zeros_like(followers), np.array([known.total])
        stored, first = select_continuations(owners, followers, known.counts, total, self._settings.pruning)
        gain = float(known.counts[first[0]])
        if suffix:
            gain -= known.total * (suffix.counts[np.searchsorted(suffix.followers, followers[first[0]])] / suffix.total)
        if length == self._settings.longest:
            self._report(len(places))
        gain = max(gain, self._visit(chunks, known))
        key = self._tokens[int(places[0]) + np.arange(1 - length, 1)]
        firsts, counts = np.array([0, len(stored)]), known.counts[stored]
        row = Level(marks(key[None, :]), np.array([length]), total, firsts, followers[stored], counts, np.array([gain]))
        self.candidates.add([row])
        return gain


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
