"""Costs of forward passes and look-ups, in milliseconds, as curves over the number of tokens fed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class LevelCost:
    """Costs of one model, in milliseconds.

    ``forward[m - 1]`` is c(m), a verification that feeds m tokens: the draft and the tokens of the text that are not
    yet in the level's cache. ``draft`` is the same for forward passes by which the model drafts alone (``None``: as
    ``forward``); for a bottom model that drafts in one launch it is the time per token, and ``draft_overhead`` the
    fixed cost of a launch. ``overhead`` is added to every verification: Python, waiting for the device, recording.
    Beyond its last entry a curve continues with its last step; a curve of one entry is flat.
    """

    forward: tuple[float, ...]
    draft: tuple[float, ...] | None = None
    overhead: float = 0.0
    draft_overhead: float = 0.0

    def __post_init__(self) -> None:
        values = (*self.forward, *(self.draft or ()), self.overhead, self.draft_overhead)
        if not self.forward or self.draft == () or not all(np.isfinite(v) and v >= 0 for v in values):
            raise ValueError("a cost curve needs an entry for one token, and costs must be finite and not negative")

    def verifying(self, fed: int) -> NDArray[Any]:
        """Return c(m) for m = 0, ..., ``fed``, shape ``[fed + 1]``, without the overhead; entry 0 is 0 and not used."""
        return _table(self.forward, fed)

    def drafting(self, fed: int) -> NDArray[Any]:
        """Return the same for forward passes by which the model drafts alone."""
        return _table(self.draft or self.forward, fed)

    def alone(self, tokens: int) -> float:
        """Return the cost of drafting ``tokens`` tokens, one token fed at a time."""
        return tokens * float(self.drafting(1)[1]) + self.draft_overhead

    def scaled(self, by: float) -> LevelCost:
        """Return all costs multiplied by ``by``."""
        draft = None if self.draft is None else tuple(by * c for c in self.draft)
        return LevelCost(tuple(by * c for c in self.forward), draft, by * self.overhead, by * self.draft_overhead)


@dataclass(frozen=True, slots=True)
class LookupCost:
    """Costs of a database, in milliseconds: per look-up, and per round of the target for adding the emitted tokens."""

    lookup: float = 0.0
    update: float = 0.0


def _table(curve: tuple[float, ...], fed: int) -> NDArray[Any]:
    known = len(curve)
    out = np.zeros(fed + 1)
    out[1 : known + 1] = curve[:fed]
    if fed > known:
        step = curve[-1] - curve[-2] if known > 1 else 0.0
        # A curve that falls at its end is noise: it continues flat.
        out[known + 1 :] = curve[-1] + max(0.0, step) * np.arange(1, fed - known + 1)
    return out
