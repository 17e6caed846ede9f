"""The decoding loop played with coins: no tokens, no tensors, only lengths. Knows nothing of the law.

Each level has a cache length, each draft token is accepted by an independent flip; what is counted is which level fed
how many tokens how often.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

BATCH = 4096


class Coins:
    """How many tokens in a row are accepted before the first that is not, by survival curve: drawn ahead in batches."""

    def __init__(self, survival: np.ndarray, random: np.random.Generator) -> None:
        self.survival, self.random, self.ready = survival, random, []

    def run(self) -> int:
        if not self.ready:
            u = self.random.random(BATCH)
            # S(k) > u for as many k as tokens are accepted.
            self.ready = np.searchsorted(-np.array(self.survival[1:]), -u).tolist()
        return self.ready.pop()


class CoinLoop:
    """Levels bottom first; ``lookaheads`` are those of all but the target.

    ``drafts``, if any, draws (drafted, accepted) of a database.
    """

    def __init__(self, lookaheads, survivals, seed, drafts=None):
        random = np.random.default_rng(seed)
        self.lookaheads = [*lookaheads, None]
        self.coins = [None, *(Coins(s, random) for s in survivals)]
        self.drafts = drafts
        self.cached = [0] * len(self.lookaheads)
        self.text = 1
        self.fed = [Counter() for _ in self.lookaheads]
        self.lookups = 0

    def draft(self, i: int) -> int:
        """call(i): the number of tokens returned; the text is as before, the caches are not."""
        if i == 0 and self.drafts is None:
            n = self.lookaheads[0]
            self.feed(0, self.text)
            self.fed[0][1] += n - 1
            self.cached[0] += n - 1
            return n
        base, kept = self.text, 0
        while kept < self.lookaheads[i]:
            gained = self.round(i)
            kept += gained
            self.text += gained
        self.text = base
        return kept

    def round(self, i: int) -> int:
        """One verification by level i; the number of tokens it gains."""
        if i > 0:
            drafted = self.draft(i - 1)
            accepted = min(self.coins[i].run(), drafted)
        elif self.drafts is not None:
            self.lookups += 1
            drafted, accepted = self.drafts()
        else:
            drafted = accepted = 0
        self.feed(i, self.text + drafted)
        for below in range(i + 1):
            self.cached[below] = min(self.cached[below], self.text + accepted)
        return accepted + 1

    def feed(self, i: int, upto: int) -> None:
        self.fed[i][upto - self.cached[i]] += 1
        self.cached[i] = upto

    def run(self, rounds: int) -> int:
        """So many rounds of the target; the number of tokens emitted."""
        top = len(self.lookaheads) - 1
        start = self.text
        for _ in range(rounds):
            self.text += self.round(top)
        return self.text - start


def simulate(loop: CoinLoop, price, *, error: float = 0.002, batch: int = 1000, most: int = 400_000):
    """Run until the standard error of ``price(counts per token)`` is at most ``error`` (relative), by batch means.

    ``price`` maps (fed counters, look-ups, target rounds) to ms. Returns (ms per token, relative standard error,
    tokens).
    """
    loop.run(50)
    loop.fed, loop.lookups = [Counter() for _ in loop.fed], 0
    spent, emitted, before = [], [], 0.0
    while len(spent) * batch < most:
        emitted.append(loop.run(batch))
        total = price(loop.fed, loop.lookups, (len(spent) + 1) * batch)
        spent.append(total - before)
        before = total
        if len(spent) >= 10:
            x, y = np.array(spent), np.array(emitted)
            ratio = x.sum() / y.sum()
            wrong = float((x - ratio * y).std(ddof=1) / np.sqrt(len(x)) / y.mean() / ratio)
            if wrong <= error:
                break
    return float(sum(spent) / sum(emitted)), wrong, sum(emitted)
