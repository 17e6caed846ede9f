"""What may follow a key, several tokens deep, read from a pre-counted index: the trie that rivals build from a corpus.

The published methods count every continuation in the corpus itself. An index holds, per key of up to a few tokens, how often
its likeliest followers were seen. A path's count is exact while key and path together are a key of the index; where
that key is missing (longer than the index goes, or dropped because it says no more than its suffix), the count of the path so
far is shared out as the longest suffix there is says.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from .context import Match

Lookup = Callable[[str], Match | None]


def followers(lookup: Lookup, tail: str, count: float) -> list[tuple[int, float]]:
    """(token, count) of what followed ``tail``, a path seen ``count`` times; likeliest first."""
    match = lookup(tail)
    if match is None:
        return []
    length, total, continuations = match
    if length == len(tail):
        return [(token, float(c)) for token, c, _ in continuations]
    return [(token, count * c / total) for token, c, _ in continuations]


def known(lookup: Lookup, key: str) -> int:
    """How often ``key`` itself was seen with anything after it, 0 where the index does not hold it."""
    match = lookup(key)
    return match[1] if match is not None and match[0] == len(key) else 0


def trie(lookup: Lookup, key: str, *, nodes: int, depth: int) -> list[tuple[int, int, float]]:
    """The ``nodes`` most frequent prefixes of at most ``depth`` tokens of what followed ``key``, as (token, parent, count).

    Most frequent first, parents before children, parent -1 for those right after the key; among equals the shorter prefix, then
    the lower token. What is expected less than once is left out.
    """
    out: list[tuple[int, int, float]] = []
    queue: list[tuple] = []
    total = known(lookup, key)
    if not total:
        return out
    # The serial number only keeps the comparison from going further.
    serial, reached, parent, path, count = 0, 0, -1, key, float(total)
    while True:
        if reached < depth:
            for token, c in followers(lookup, path, count):
                if c >= 1:
                    serial += 1
                    heappush(queue, (-c, reached + 1, token, serial, parent, path))
        if not queue or len(out) == nodes:
            return out
        negative, reached, token, _, above, before = heappop(queue)
        parent, path, count = len(out), before + chr(token), -negative
        out.append((token, above, count))
