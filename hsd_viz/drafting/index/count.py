"""Exact counts of what follows each key in one part of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd_viz.drafting.index.format import MOST_CONTINUATIONS, Table, marks

#: Bytes of a key in the file besides its values: mark, place, and half of a bucket's start.
KEY_BYTES = 10


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
class Level(Table):
    """The keys of one length in one part of the corpus. ``gains`` float64 [keys]: hits added to shorter keys."""

    gains: np.ndarray


@dataclass(frozen=True, slots=True)
class Known:
    """The common suffix of all keys of a part, already counted: its ``length`` in tokens and its followers.

    ``followers``: int64 token ids, ascending; ``counts``: int64; ``total``: their sum.
    """

    length: int
    followers: np.ndarray
    counts: np.ndarray

    @property
    def total(self) -> int:
        return int(self.counts.sum())


def count_part(
    tokens: np.ndarray,
    ends: np.ndarray,
    places: np.ndarray,
    settings: CountSettings,
    suffix: Known | None = None,
) -> list[Level]:
    """Return the levels of all keys that end at ``places`` (int64) of the corpus ``tokens``.

    ``ends`` int64 [documents] are the ends of the documents, which keys do not cross. ``suffix`` is a key that ends at
    all these places and is already counted: the first level is the next longer one. A key is represented by the number
    of its suffix and one more token: exact, without hashes.
    """
    wide, pruning = np.int64(settings.vocabulary_size), settings.pruning
    document = np.searchsorted(ends, places, side="right")
    begin = np.concatenate(([0], ends))[document]
    keys = np.zeros(len(places), dtype=np.int64)
    levels: list[Level] = []
    parents_of: list[np.ndarray] = []
    pairs_below = counts_below = totals_below = np.zeros(0, dtype=np.int64)
    shortest = 1
    if suffix is not None:
        shortest, pairs_below, counts_below = suffix.length + 1, suffix.followers, suffix.counts
        totals_below = np.array([suffix.total])
    for n in range(shortest, settings.longest + 1):
        inside = places - (n - 1) >= begin
        places, document, begin, keys = (a[inside] for a in (places, document, begin, keys))
        older = tokens[places - (n - 1)].astype(np.int64)
        grown, first, number = np.unique(keys * wide + older, return_index=True, return_inverse=True)
        after = tokens[places + 1].astype(np.int64)
        pairs, counts = _count_pairs(number * wide + after, document if settings.per_document else None)
        owners, follower = pairs // wide, pairs % wide
        totals = np.bincount(owners, counts, minlength=len(grown)).astype(np.int64)
        keep = totals >= pruning.least
        if not keep.any():
            break
        stored, best = select_continuations(owners, follower, counts, totals, pruning)
        stored = stored[keep[owners[stored]]]
        parents = grown // wide
        gains = counts[best].astype(float)
        if n > 1:
            # Expected hits added: how much more probable the first continuation is than by the shorter key.
            wanted = parents * wide + follower[best]
            gains -= totals * (counts_below[np.searchsorted(pairs_below, wanted)] / totals_below[parents])
        renumber = np.cumsum(keep) - 1
        numbers = np.bincount(renumber[owners[stored]], minlength=int(keep.sum()))
        firsts = np.concatenate(([0], np.cumsum(numbers)))
        hashes = marks(tokens[places[first[keep]][:, None] + np.arange(1 - n, 1)])
        lengths, rows = np.full(len(numbers), n), (follower[stored], counts[stored])
        levels.append(Level(hashes, lengths, totals[keep], firsts, *rows, gains[keep]))
        parents_of.append(parents[keep])
        pairs_kept = keep[owners]
        pairs_below = renumber[owners[pairs_kept]] * wide + follower[pairs_kept]
        counts_below, totals_below = counts[pairs_kept], totals[keep]
        on = keep[number]
        places, document, begin = (a[on] for a in (places, document, begin))
        keys = renumber[number[on]]
    # A key gains at least what its extensions gain, because a look-up passes through it.
    for k in range(len(levels) - 1, 0, -1):
        np.maximum.at(levels[k - 1].gains, parents_of[k], levels[k].gains)
    return levels


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
