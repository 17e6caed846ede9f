"""The ``logits`` database: the target's most probable tokens by the last tokens before them.

A verification computes the target's distribution at every node of the draft, also at rejected ones, and decoding uses
one token of each. Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696) keeps the most probable successors of each
token, and LogitSpec (arXiv 2507.01449) looks up what may follow them. Here they form a database: keys of up to three
tokens, the latest row of each, with the target's own probabilities as shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.words import check_range

from .context import Match

#: The name of this database in a stack.
LOGITS = "logits"
#: Most keys stored; the oldest are dropped first. A key takes about 100 bytes, a row shared by several keys 1 kB.
MOST = 100_000


class LogitsDatabase:
    """The target's latest row by keys of one to ``longest`` tokens. Passed from run to run: warm; a new one: cold."""

    __slots__ = ("_rows", "longest", "most")

    def __init__(self, longest: int = 3, most: int = MOST) -> None:
        check_range("the longest key", longest, 1)
        check_range("the number of keys", most, 1)
        self.longest = longest
        self.most = most
        self._rows: dict[str, list[tuple[int, float, None]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, tail: str, ids: Sequence[int], probabilities: Sequence[float]) -> None:
        """Store the target's ``probabilities`` of the tokens ``ids`` after ``tail`` (spelled), highest first."""
        row = [(token, p, None) for token, p in zip(ids, probabilities, strict=True) if p > 0]
        rows = self._rows
        for length in range(1, min(self.longest, len(tail)) + 1):
            rows[tail[-length:]] = row
        while len(rows) > self.most:
            del rows[next(iter(rows))]

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """Return the row of the longest suffix of ``tail`` that is a key; its counts are probabilities."""
        most = self.longest if longest is None or longest > self.longest else longest
        for length in range(min(most, len(tail)), 0, -1):
            row = self._rows.get(tail[-length:])
            if row is not None:
                return length, 1, row
        return None
