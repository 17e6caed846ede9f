"""Counting continuations of every key of a corpus, exactly, in bounded memory, and choosing the keys worth their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hsd_viz.drafting.index.format import MOST_CONTINUATIONS, Table, marks

#: Bytes of a key in the file besides its values: mark, place, and its half of a bucket's start (up to twice that).
KEY_BYTES = 10


@dataclass(frozen=True, slots=True)
class Pruning:
    """What is worth keeping.

    ``least``: a key is kept if it was seen that often (and so are all its suffixes, which were seen at least as often).
    ``least_continuation`` and ``least_share``: what a continuation must reach, the likeliest one excepted. ``most``
    continuations a key. ``max_bytes``: the keys that gain most are kept, as many as fit.
    """

    least: int = 2
    least_continuation: int = 2
    least_share: float = 0.04
    most: int = 4
    max_bytes: int = 6_000_000


@dataclass(slots=True)
class Level:
    """The keys of one length within one part of the corpus. ``parents``: row of each key's longest proper suffix one level down."""

    marks: np.ndarray
    totals: np.ndarray
    parents: np.ndarray
    gains: np.ndarray
    firsts: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray


def count(
    documents: Sequence[np.ndarray],
    *,
    vocabulary_size: int,
    longest: int,
    pruning: Pruning,
    per_document: bool = False,
    part_tokens: int = 2_000_000,
    progress: Callable[[str, float], None] | None = None,
) -> Table:
    """Count what follows each key of 1 to ``longest`` tokens in ``documents`` (one-dimensional token arrays; keys stay within one).

    With ``per_document`` a continuation counts once per document, so that one text that repeats itself weighs no more than
    another. Places are counted in parts, by the last token of their key, of about ``part_tokens`` places: a key lies in one part
    as a whole, so counts are exact, and memory is some 150 bytes per place of a part beside the corpus itself.
    """
    tokens = np.concatenate([np.asarray(d) for d in documents]) if documents else np.zeros(0, dtype=np.uint16)
    if len(tokens) and int(tokens.max()) >= vocabulary_size:
        raise ValueError(f"token {int(tokens.max())} is outside a vocabulary of {vocabulary_size}")
    ends = np.cumsum([len(d) for d in documents])
    frequencies = np.bincount(tokens, minlength=vocabulary_size)
    part_of = (np.cumsum(frequencies) - frequencies) // part_tokens
    last = np.zeros(len(tokens), dtype=bool)
    last[ends[ends > 0] - 1] = True
    levels: list[Level] = []
    parts = np.unique(part_of[frequencies > 0])
    for done, part in enumerate(parts):
        places = np.flatnonzero((part_of[tokens] == part) & ~last)
        levels += count_part(tokens, ends, places, vocabulary_size, longest, pruning, per_document)
        if progress:
            progress("counting", (done + 1) / len(parts))
    return _choose(levels, longest, pruning, 4 if vocabulary_size > 2**16 else 2)


@dataclass(frozen=True, slots=True)
class Known:
    """The one key that ends all keys of a part, already counted: its ``length`` in tokens and what ``followers`` it has how often.

    ``followers``: int64 token ids, ascending; ``counts`` int64; ``total`` their sum.
    """

    length: int
    followers: np.ndarray
    counts: np.ndarray

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def count_part(
    tokens, ends, places, vocabulary_size, longest, pruning, per_document, below: Known | None = None
) -> list[Level]:
    """All levels of the keys that end at ``places``. A key is its suffix's number and one older token: exact, without hashes.

    ``below`` is the key that they all extend, where they do not begin with the shortest: the first level is then the one above
    it. ``Level.parents`` holds the lengths of the keys when done.
    """
    wide = np.int64(vocabulary_size)
    document = np.searchsorted(ends, places, side="right")
    begin = np.concatenate(([0], ends))[document]
    keys = np.zeros(len(places), dtype=np.int64)
    levels: list[Level] = []
    pairs_below = counts_below = totals_below = None
    shortest = 1
    if below is not None:
        shortest, pairs_below, counts_below = below.length + 1, below.followers, below.counts
        totals_below = np.array([below.total])
    for n in range(shortest, longest + 1):
        inside = places - (n - 1) >= begin
        places, document, begin, keys = (a[inside] for a in (places, document, begin, keys))
        older = tokens[places - (n - 1)].astype(np.int64)
        grown, first, number = np.unique(keys * wide + older, return_index=True, return_inverse=True)
        after = tokens[places + 1].astype(np.int64)
        pairs, which = np.unique(number * wide + after, return_inverse=True)
        if per_document:
            documents = np.int64(len(ends))
            counts = np.bincount(np.unique(which * documents + document) // documents, minlength=len(pairs))
        else:
            counts = np.bincount(which, minlength=len(pairs))
        owners, follower = pairs // wide, pairs % wide
        totals = np.bincount(owners, counts, minlength=len(grown)).astype(np.int64)
        keep = totals >= pruning.least
        if not keep.any():
            break
        stored, best = likeliest(owners, follower, counts, totals, pruning)
        stored = stored[keep[owners[stored]]]
        parents = grown // wide
        gains = counts[best].astype(float)
        if n > 1:
            # Expected hits the longer key adds: how much likelier its first continuation is than the shorter key said.
            wanted = parents * wide + follower[best]
            gains -= totals * (counts_below[np.searchsorted(pairs_below, wanted)] / totals_below[parents])
        renumber = np.cumsum(keep) - 1
        numbers = np.bincount(renumber[owners[stored]], minlength=int(keep.sum()))
        levels.append(
            Level(
                marks(tokens[places[first[keep]][:, None] + np.arange(1 - n, 1)]),
                totals[keep],
                parents[keep],
                gains[keep],
                np.concatenate(([0], np.cumsum(numbers))),
                follower[stored],
                counts[stored],
            )
        )
        kept_pairs = keep[owners]
        pairs_below = renumber[owners[kept_pairs]] * wide + follower[kept_pairs]
        counts_below, totals_below = counts[kept_pairs], totals[keep]
        on = keep[number]
        places, document, begin = (a[on] for a in (places, document, begin))
        keys = renumber[number[on]]
    # A key is worth at least what its extensions are worth, because a look-up climbs through it.
    for lower, upper in zip(levels[-2::-1], levels[:0:-1], strict=True):
        np.maximum.at(lower.gains, upper.parents, upper.gains)
    for n, level in enumerate(levels, shortest):
        level.parents = np.full(len(level.marks), n)
    return levels


def likeliest(owners, follower, counts, totals, pruning) -> tuple[np.ndarray, np.ndarray]:
    """Which (key, continuation) pairs are worth storing, likeliest first, and the likeliest of each key.

    ``owners`` (ascending from 0), ``follower`` and ``counts`` int [pairs]; ``totals`` int [keys]. The lower token goes first among
    equals.
    """
    order = np.lexsort((follower, -counts, owners))
    rank = np.arange(len(order)) - np.searchsorted(owners, np.arange(len(totals)))[owners[order]]
    enough = (counts >= pruning.least_continuation) & (counts >= pruning.least_share * totals[owners])
    return order[((rank == 0) | enough[order]) & (rank < min(pruning.most, MOST_CONTINUATIONS))], order[rank == 0]


def _choose(levels: list[Level], longest: int, pruning: Pruning, value_bytes: int) -> Table:
    """The keys of most gain that fit into ``pruning.max_bytes``, with their continuations."""
    if not levels:
        empty = np.zeros(0, dtype=np.int64)
        return Table(empty.astype(np.uint32), empty, empty, np.zeros(1, dtype=np.int64), empty, empty)
    gains = np.concatenate([level.gains for level in levels])
    lengths = np.concatenate([level.parents for level in levels])
    numbers = np.concatenate([np.diff(level.firsts) for level in levels])
    sizes = KEY_BYTES + value_bytes * (1 + 2 * numbers)
    # Shorter keys first among equals: a kept key's suffixes are never dropped before it.
    order = np.lexsort((lengths, -gains))
    fits = order[np.cumsum(sizes[order]) <= pruning.max_bytes]
    keep = np.zeros(len(gains), dtype=bool)
    keep[fits] = gains[fits] > 0
    kept = np.concatenate([level.marks for level in levels])
    totals = np.concatenate([level.totals for level in levels])
    stored = np.repeat(keep, numbers)
    return Table(
        kept[keep],
        lengths[keep],
        totals[keep],
        np.concatenate(([0], np.cumsum(numbers[keep]))),
        np.concatenate([level.tokens for level in levels])[stored],
        np.concatenate([level.counts for level in levels])[stored],
    )
