"""Acceptance of drafts by a verifier: chains of model tokens, and the drafts of a database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Edge:
    """Acceptance of one model's tokens by the model above it.

    ``survival[k - 1]`` is S(k), the probability that the first k tokens of a draft are all accepted, as far as it was
    measured; beyond that, each further token is accepted with probability ``tail``. ``Edge(tail=a)`` is independent
    acceptance, S(k) = a^k (Leviathan et al. 2023).
    """

    survival: tuple[float, ...] = ()
    tail: float = 0.0

    def __post_init__(self) -> None:
        chain = (1.0, *self.survival, 0.0)
        if not 0 <= self.tail <= 1 or any(later > earlier or later < 0 for earlier, later in pairwise(chain)):
            raise ValueError(
                "an acceptance curve must not rise and must stay from 1 to 0, and its tail must be from 0 to 1"
            )

    def curve(self, n: int) -> NDArray[Any]:
        """Return S(0), ..., S(n), shape ``[n + 1]``."""
        known = len(self.survival)
        out = np.empty(n + 1)
        out[0] = 1.0
        out[1 : known + 1] = self.survival[:n]
        if n > known:
            out[known + 1 :] = out[known] * self.tail ** np.arange(1, n - known + 1)
        return out

    def tokens(self, n: int) -> float:
        """Return G(n), the tokens that a round gains from a draft of ``n``, the verifier's own included.

        1 + S(1) + ... + S(n).
        """
        return float(self.curve(n).sum())

    def stops(self, n: int) -> NDArray[Any]:
        """Return P(k tokens of a draft of ``n`` are accepted), k = 0, ..., n."""
        s = self.curve(n)
        return np.append(s[:-1] - s[1:], s[-1])

    def shifted(self, by: float) -> Edge:
        """Return the edge with every conditional acceptance S(k)/S(k-1) moved by ``by``, within [0, 1]."""
        chain = (1.0, *self.survival)
        survives, out = 1.0, []
        for before, after in pairwise(chain):
            survives *= min(1.0, max(0.0, (after / before if before else self.tail) + by))
            out.append(survives)
        return Edge(tuple(out), min(1.0, max(0.0, self.tail + by)))


@dataclass(frozen=True, slots=True)
class Tier:
    """Acceptance of a database's drafts by one verifier: random length, point masses, chain or tree.

    ``outcomes`` lists (draft tokens, accepted tokens, probability); a miss is (0, 0, probability). The probabilities
    sum to 1.
    """

    outcomes: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        total = sum(chance for _, _, chance in self.outcomes)
        if abs(total - 1) > _SUM_TOLERANCE or any(not 0 <= a <= m or c < 0 for m, a, c in self.outcomes):
            raise ValueError(
                "outcomes need probabilities that sum to 1 and at most as many accepted tokens as drafted ones"
            )

    @classmethod
    def counted(cls, rounds: Iterable[tuple[int, int, int]]) -> Tier:
        """Return the tier of counts: (draft tokens, accepted, number of rounds)."""
        rounds = list(rounds)
        total = sum(n for _, _, n in rounds)
        return cls(tuple((m, a, n / total) for m, a, n in sorted(rounds)))

    def shifted(self, by: float) -> Tier:
        """Return the drafts with conditional acceptance (accepted / examined) moved by ``by``, within [0, 1].

        Lower: each accepted token is rejected with the probability that gives the new rate. Higher: the rejected token
        is accepted with such a probability, and the tokens after it at the new rate, as in a chain.
        """
        examined = sum(chance * (a + (a < m)) for m, a, chance in self.outcomes)
        if not examined:
            return self
        rate = (self.tokens - 1) / examined
        new = min(1.0, max(0.0, rate + by))
        found: dict[tuple[int, int], float] = {}
        for m, a, chance in self.outcomes:
            first, shares = a, np.ones(1)
            if new <= rate:
                first, shares = 0, Edge(tail=new / rate if rate else 0.0).stops(a)
            elif a < m:
                more = (new - rate) / (1 - rate)
                shares = np.append(1.0 - more, more * Edge(tail=new).stops(m - a - 1))
            for k, share in enumerate(shares, start=first):
                found[m, k] = found.get((m, k), 0.0) + chance * float(share)
        return Tier(tuple((m, a, c) for (m, a), c in sorted(found.items())))

    @property
    def hit_rate(self) -> float:
        """Share of look-ups with a draft."""
        return sum(chance for m, _, chance in self.outcomes if m)

    @property
    def tokens(self) -> float:
        """Expected tokens gained by a round, the verifier's own included."""
        return 1.0 + sum(a * chance for _, a, chance in self.outcomes)

    def drafted(self) -> NDArray[Any]:
        """Return P(m draft tokens), m = 0, 1, ..."""
        return self._law(0)

    def accepted(self) -> NDArray[Any]:
        """Return P(k accepted), k = 0, 1, ..."""
        return self._law(1)

    def _law(self, column: int) -> NDArray[Any]:
        places = [o[column] for o in self.outcomes]
        return np.bincount(places, weights=[o[2] for o in self.outcomes]).astype(float)
