"""Counting a corpus that is larger than memory: exact, part by part, what was counted going to disk.

A part holds the places whose keys end in the same few tokens, so that a key lies in one part as a whole. Where a single key has
more places than a part may hold (a line end, say), that one key is counted by going through its places, and they are divided
anew by the next older token. Memory, however long the corpus: some 280 bytes for each of ``part_tokens`` places, 100 bytes a
token id and 40 bytes a document. Disk: 10 to 12 bytes a token and some 40 bytes a counted key, given back at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.count import Known, Level, Pruning, count_part, likeliest
from hsd_viz.drafting.index.format import marks
from hsd_viz.drafting.index.spool import Corpus
from hsd_viz.drafting.select import Candidates

#: Places looked at together at most, wherever all of them are gone through.
CHUNK = 2**20
#: Places counted together.
PART_TOKENS = 1_000_000

#: Gives the places (int64, ascending) of a corpus or a part of it in pieces, from the beginning each time.
Chunks = Callable[[], Iterator[np.ndarray]]


class ExternalCount:
    """Counts what follows each key of 1 to ``longest`` tokens of ``corpus``, as :func:`hsd_viz.drafting.index.count.count` does.

    What is found goes to ``candidates``. ``folder`` is for files that are of use while counting only.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: str | Path,
        *,
        vocabulary_size: int,
        longest: int,
        pruning: Pruning,
        per_document: bool = False,
        part_tokens: int = PART_TOKENS,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        if part_tokens < 1:
            raise ValueError(f"parts of {part_tokens} tokens are out of range: they have at least 1")
        self.candidates = Candidates(folder)
        self._tokens, self._ends = corpus.tokens, corpus.ends
        self._begins = np.concatenate(([0], corpus.ends[:-1])) if len(corpus.ends) else corpus.ends
        self._folder, self._size, self._longest = Path(folder), vocabulary_size, longest
        self._pruning, self._per_document, self._part_tokens = pruning, per_document, part_tokens
        self._progress = progress
        self._done = 0
        # Places looked at together: as few as a part has, but enough to be quick.
        self._chunk = min(CHUNK, max(part_tokens, 4096))

    def run(self) -> Candidates:
        """Count."""
        if len(self._tokens):
            self._visit(self._everywhere, None)
        return self.candidates

    def _everywhere(self) -> Iterator[np.ndarray]:
        """The places of the corpus that have a token after them in their document."""
        for start in range(0, len(self._tokens), self._chunk):
            places = np.arange(start, min(start + self._chunk, len(self._tokens)))
            yield places[self._ends[self._document(places)] > places + 1]

    def _document(self, places: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._ends, places, side="right")

    def _visit(self, chunks: Chunks, below: Known | None) -> float:
        """Count every key that is longer than ``below`` and ends in it, at these places; the best gain of a key one token longer."""
        depth = below.length if below else 0
        best = -np.inf
        if depth == self._longest:
            return best
        for places in self._parts(chunks, depth):
            if len(places) > self._part_tokens:
                best = max(best, self._count_one(places, below))
                continue
            args = self._size, self._longest, self._pruning, self._per_document
            levels = count_part(self._tokens, self._ends, np.array(places), *args, below)
            if levels:
                best = max(best, float(levels[0].gains.max()))
                self.candidates.add(levels)
            self._tell(len(places))
        return best

    def _tell(self, places: int) -> None:
        self._done += places
        if self._progress:
            self._progress("counting", min(1.0, self._done / max(1, len(self._tokens) - len(self._ends))))

    def _parts(self, chunks: Chunks, depth: int) -> Iterator[np.ndarray]:
        """These places divided by the token ``depth`` before each: parts of at most ``part_tokens``, or of one token that has more."""

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

    def _count_one(self, places: np.ndarray, below: Known | None) -> float:
        """The one key that ends at all of these places, by going through them; then its extensions. Returns its gain."""
        length = below.length + 1 if below else 1

        def chunks() -> Iterator[np.ndarray]:
            for start in range(0, len(places), self._chunk):
                yield np.array(places[start : start + self._chunk])

        counts = np.zeros(self._size, dtype=np.int64)
        # The last document in which each token was seen to follow.
        seen = np.full(self._size, -1, dtype=np.int64)
        for piece in chunks():
            after = self._tokens[piece + 1].astype(np.int64)
            if self._per_document:
                document = self._document(piece)
                pairs = np.unique(document * np.int64(self._size) + after)
                document, after = pairs // self._size, pairs % self._size
                new = seen[after] != document
                seen[after] = document  # ascending: the last one stays
                after = after[new]
            counts += np.bincount(after, minlength=self._size)
        followers = np.flatnonzero(counts)
        known = Known(length, followers, counts[followers])
        if known.total < self._pruning.least:
            self._tell(len(places))
            return -np.inf
        stored, first = likeliest(
            np.zeros_like(followers), followers, known.counts, np.array([known.total]), self._pruning
        )
        gain = float(known.counts[first[0]])
        if below:
            gain -= known.total * (below.counts[np.searchsorted(below.followers, followers[first[0]])] / below.total)
        if length == self._longest:
            self._tell(len(places))
        gain = max(gain, self._visit(chunks, known))
        key = self._tokens[int(places[0]) + np.arange(1 - length, 1)]
        self.candidates.add(
            [
                Level(
                    marks(key[None, :]),
                    np.array([known.total]),
                    np.array([length]),
                    np.array([gain]),
                    np.array([0, len(stored)]),
                    followers[stored],
                    known.counts[stored],
                )
            ]
        )
        return gain


def divide(frequencies: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Which part each token falls to, and the size of each part: neighbours share one of at most ``most`` places.

    A token with more places than that has a part of its own. Returns ``part_of`` int64 [tokens] and ``sizes`` int64 [parts].
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
