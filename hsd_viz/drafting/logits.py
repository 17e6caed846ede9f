"""What the target held likely: its rows, by the last tokens before them, for as long as they are remembered.

Every verification scores each node of the draft, the rejected ones too, and all of it but one token per place is thrown away. Token
Recycling (Luo et al., ACL 2025, arXiv 2408.08696) keeps the likeliest successors of each token instead, and LogitSpec (arXiv 2507.01449)
looks up what may follow them. Here they are a database like any other: keys of up to three tokens, the latest row of each,
and shares that are the target's own probabilities, so that they mix with what the other databases say.
"""

from __future__ import annotations

from collections.abc import Sequence

from .context import Match

#: The name of this database in a stack.
LOGITS = "logits"
#: Keys remembered; the ones that were first put in go first. A key takes some 100 bytes, a row it shares with others 1 kB.
MOST = 100_000


class LogitsDatabase:
    """The latest rows of the target under the last one to ``longest`` tokens before them.

    It learns from :meth:`put` alone. Passed to run after run it is warm, a fresh one is cold.
    """

    __slots__ = ("_rows", "longest", "most")

    def __init__(self, longest: int = 3, most: int = MOST) -> None:
        if longest < 1 or most < 1:
            raise ValueError(f"keys of {longest} tokens and {most} of them are out of range: both are at least 1")
        self.longest = longest
        self.most = most
        self._rows: dict[str, list[tuple[int, float, None]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, tail: str, ids: Sequence[int], chances: Sequence[float]) -> None:
        """After ``tail`` (spelled) the target gave these tokens these probabilities, likeliest first."""
        row = [(token, chance, None) for token, chance in zip(ids, chances, strict=True) if chance > 0]
        rows = self._rows
        for length in range(1, min(self.longest, len(tail)) + 1):
            rows[tail[-length:]] = row
        while len(rows) > self.most:
            del rows[next(iter(rows))]

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """The row of the longest suffix of ``tail`` that is a key; "counts" are probabilities, and their total is 1."""
        most = self.longest if longest is None or longest > self.longest else longest
        for length in range(min(most, len(tail)), 0, -1):
            row = self._rows.get(tail[-length:])
            if row is not None:
                return length, 1, row
        return None
