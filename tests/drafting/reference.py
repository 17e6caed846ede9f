"""Counting in memory: the reference for counting on disk."""

from __future__ import annotations

import numpy as np

from hsd_viz.drafting.index.count import CountSettings, count_part
from hsd_viz.drafting.index.format import KEY_BYTES, Table


def count(documents, *, vocabulary_size, longest, pruning, per_document=False, part_tokens=2_000_000):
    """Return the table of the keys of 1 to ``longest`` tokens with the highest gains, sorted in memory."""
    documents = [np.asarray(d, dtype=np.int64) for d in documents]
    tokens = np.concatenate(documents)
    ends = np.cumsum([len(d) for d in documents])
    frequencies = np.bincount(tokens, minlength=vocabulary_size)
    part_of = (np.cumsum(frequencies) - frequencies) // part_tokens
    last = np.zeros(len(tokens), dtype=bool)
    last[ends[ends > 0] - 1] = True
    levels = []
    for part in np.unique(part_of[frequencies > 0]):
        places = np.flatnonzero((part_of[tokens] == part) & ~last)
        settings = CountSettings(vocabulary_size, longest, pruning, per_document)
        levels += count_part(tokens, ends, places, settings)
    if not levels:
        empty = np.zeros(0, dtype=np.int64)
        return Table(empty.astype(np.uint32), empty, empty, np.zeros(1, dtype=np.int64), empty, empty)
    gains, lengths, marks, totals = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("gains", "lengths", "marks", "totals")
    )
    numbers = np.concatenate([np.diff(level.firsts) for level in levels])
    sizes = KEY_BYTES + (4 if vocabulary_size > 2**16 else 2) * (1 + 2 * numbers)
    order = np.lexsort((lengths, -gains))
    fits = order[np.cumsum(sizes[order]) <= pruning.max_bytes]
    keep = np.zeros(len(gains), dtype=bool)
    keep[fits] = gains[fits] > 0
    stored = np.repeat(keep, numbers)
    return Table(
        marks[keep],
        lengths[keep],
        totals[keep],
        np.concatenate(([0], np.cumsum(numbers[keep]))),
        np.concatenate([level.tokens for level in levels])[stored],
        np.concatenate([level.counts for level in levels])[stored],
    )
