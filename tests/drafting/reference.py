"""Counting with dictionaries: slow, exact, and with nothing in common with the counting of files."""

from __future__ import annotations

import struct
import zlib
from collections import Counter, defaultdict

import numpy as np

from hsd_viz.drafting.index.format import KEY_BYTES, Table


def count(documents, *, vocabulary_size, longest, pruning, per_document=False):
    """Return the table of the keys of 1 to ``longest`` tokens with the highest gains."""
    followers = defaultdict(Counter)
    for document in documents:
        seen = set()
        for at in range(1, len(document)):
            for n in range(1, min(longest, at) + 1):
                key, token = tuple(int(t) for t in document[at - n : at]), int(document[at])
                followers[key][token] += not (per_document and (key, token) in seen)
                seen.add((key, token))
    known = {key: found for key, found in followers.items() if found.total() >= pruning.least}
    ranked = {key: sorted(found.items(), key=lambda pair: (-pair[1], pair[0])) for key, found in known.items()}
    gains = {}
    for key, ((token, best), *_) in ranked.items():
        shorter = known.get(key[1:])
        gains[key] = best - (known[key].total() * (shorter[token] / shorter.total()) if shorter else 0.0)
    for key in sorted(known, key=len, reverse=True):
        if len(key) > 1:
            gains[key[1:]] = max(gains[key[1:]], gains[key])
    # Keys in the order of counting: by length, then by number of the suffix, then by first token.
    order = sorted(known, key=lambda key: (len(key), key[::-1]))
    stored = {}
    for key in order:
        least = max(pruning.least_continuation, pruning.least_share * known[key].total())
        stored[key] = [p for k, p in enumerate(ranked[key]) if k == 0 or p[1] >= least][: min(pruning.most, 7)]
    bytes_of = 4 if vocabulary_size > 2**16 else 2
    room, kept = pruning.max_bytes, set()
    for key in sorted(order, key=lambda key: (-gains[key], len(key))):
        room -= KEY_BYTES + bytes_of * (1 + 2 * len(stored[key]))
        if room < 0:
            break
        if gains[key] > 0:
            kept.add(key)
    rows = [key for key in order if key in kept]
    pairs = [pair for key in rows for pair in stored[key]]
    integers = lambda values: np.array(list(values), dtype=np.int64)
    return Table(
        np.array([zlib.crc32(struct.pack(f"<{len(key)}I", *key)) for key in rows], dtype=np.uint32),
        integers(map(len, rows)),
        integers(known[key].total() for key in rows),
        np.concatenate(([0], np.cumsum(integers(len(stored[key]) for key in rows)))),
        integers(token for token, _ in pairs),
        integers(number for _, number in pairs),
    )
