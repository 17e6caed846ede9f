"""What forwards and look-ups cost, in milliseconds, as curves over the number of tokens fed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class LevelCost:
    """What one model costs, in milliseconds.

    ``forward[m - 1]`` is c(m), a verification that feeds m tokens: the drafts and whatever of the text is not yet in the
    level's cache. ``draft`` is the same for a forward by which the model drafts on its own (``None``: as ``forward``); a bottom
    model that drafts in one launch has its time per token there, and what a launch costs besides in ``draft_overhead``.
    ``overhead`` is added to every verification: Python, waiting for the device, the record. Beyond its last entry a curve goes
    on with its last step; a curve of one entry is flat.
    """

    forward: tuple[float, ...]
    draft: tuple[float, ...] | None = None
    overhead: float = 0.0
    draft_overhead: float = 0.0

    def __post_init__(self) -> None:
        values = (*self.forward, *(self.draft or ()), self.overhead, self.draft_overhead)
        if not self.forward or self.draft == () or not all(np.isfinite(v) and v >= 0 for v in values):
            raise ValueError("a cost curve has an entry for one token or more, and no cost is negative")

    def verifying(self, fed: int) -> NDArray[np.float64]:
        """c(m) for m = 0, ..., ``fed``, shape ``[fed + 1]``, without the overhead; nothing is ever fed 0 tokens (entry 0 is 0)."""
        return _table(self.forward, fed)

    def drafting(self, fed: int) -> NDArray[np.float64]:
        """The same for forwards by which the model drafts on its own."""
        return _table(self.draft or self.forward, fed)

    def alone(self, tokens: int) -> float:
        """Drafting ``tokens`` tokens in a row, one token fed at a time."""
        return tokens * float(self.drafting(1)[1]) + self.draft_overhead

    def scaled(self, by: float) -> LevelCost:
        """Everything this model does at ``by`` times its cost."""
        draft = None if self.draft is None else tuple(by * c for c in self.draft)
        return replace(
            self,
            forward=tuple(by * c for c in self.forward),
            draft=draft,
            overhead=by * self.overhead,
            draft_overhead=by * self.draft_overhead,
        )


@dataclass(frozen=True, slots=True)
class LookupCost:
    """A database's own time, in milliseconds: per look-up, and per round of the target for reading what was emitted."""

    lookup: float = 0.0
    update: float = 0.0


def _table(curve: tuple[float, ...], fed: int) -> NDArray[np.float64]:
    known = len(curve)
    out = np.zeros(fed + 1)
    out[1 : known + 1] = curve[:fed]
    if fed > known:
        step = curve[-1] - curve[-2] if known > 1 else 0.0
        # A curve that falls at its end is noise: it goes on flat.
        out[known + 1 :] = curve[-1] + max(0.0, step) * np.arange(1, fed - known + 1)
    return out
