"""Worlds whose costs and chances are known, to judge the choice by.

A world draws what happens to each option; the option's *true* expected cost and tokens are what it is judged by, so that luck is
left out of the comparison.
"""

from __future__ import annotations

import random

from hsd_viz.adaptive.choice import Chooser
from hsd_viz.adaptive.options import Estimates, Option
from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost, LookupCost
from hsd_viz.latency.law import Law
from hsd_viz.latency.select import select

NAMES = ("nano", "small", "target")


class World:
    """Models of given costs and acceptance over ``NAMES``, and a database whose drafts are chains of equally likely tokens.

    ``chances`` are (chance that a look-up finds a chain, its tokens, the chance of each token, what the score says of each).
    """

    def __init__(self, costs, edges, finds=(), lookup: float = 0.0, seed: int = 0) -> None:
        self.costs, self.edges, self.finds = costs, edges, finds
        self.lookup = lookup
        self.random = random.Random(seed)
        self.pending = [1] * (len(NAMES) - 1)
        #: What other work makes of the time of a round.
        self.disturbed = (1.0,)

    def calibration(self) -> Calibration:
        """The truth."""
        tiers = {}
        if self.finds:
            outcomes = [(0, 0, 1 - sum(f[0] for f in self.finds))]
            for share, n, chance, _ in self.finds:
                outcomes += [(n, k, share * float(p)) for k, p in enumerate(Edge(tail=chance).stops(n))]
            tiers = {("db", name): Tier(tuple(outcomes)) for name in NAMES}
        edges = {pair: Edge(tail=a) for pair, a in self.edges.items()}
        return Calibration(NAMES, self.costs, edges, tiers, {"db": LookupCost(self.lookup)} if self.finds else {})

    def best(self) -> float:
        """ms per token of the best fixed stack."""
        return select(self.calibration(), most=16).picked.ms_per_token

    def look(self) -> tuple[int, float, float]:
        """A look-up: tokens found, the chance of each, what its score says."""
        at = self.random.random()
        for share, n, chance, said in self.finds:
            at -= share
            if at < 0:
                return n, chance, said
        return 0, 0.0, 0.0

    def run(self, estimates: Estimates, rounds: int) -> list[tuple[float, float]]:
        """Rounds as (true expected ms, true expected tokens), the estimates told what was drawn."""
        chooser, law, out = Chooser(estimates), Law(self.calibration()), []
        before, left = Option(), 0
        for _ in range(rounds):
            found, option = None, None
            if left:
                left -= 1
                if not before.nodes:
                    option = before
                    estimates.went_on(option, 1)
                else:
                    found = self.look()
                    promised = sum(self._reach(found))
                    if (cost := chooser.enough(found[0], promised)) is not None:
                        option = Option(found[0], (), True, cost, 1 + estimates.kept * promised)
                        estimates.went_on(option, 1)
            if option is not None:
                cost, gain, kept = self._serve(option, found, law, estimates)
                self._note(option, kept, cost + self.lookup * (found is not None), gain, out)
                continue
            if found is None and chooser.looks():
                found = self.look()
            if found is not None:
                estimates.see_lookup(found[0], self.lookup)
            option = chooser.choose(self.pending, None if found is None else self._reach(found))
            cost, gain, kept = self._serve(option, found, law, estimates)
            if found is not None and found[0] and not option.nodes:
                estimates.see_direct(found[2], self._chain(1, found[1]))
            if chooser.attentive and (not option.models or option.kind == before.kind):
                estimates.see_round(option, cost * self.random.choice(self.disturbed))
            before, left = option, chooser.hold
            self._note(option, kept, cost + self.lookup * (found is not None), gain, out)
        return out

    def _reach(self, found: tuple[int, float, float]) -> list[float]:
        """The scores of a chain that was found."""
        return [found[2] ** (k + 1) for k in range(found[0])]

    def _note(self, option: Option, kept: int, cost: float, gain: float, out: list) -> None:
        used = {m for m, _ in option.models}
        self.pending = [1 if m in used else waiting + kept for m, waiting in enumerate(self.pending)]
        out.append((cost, gain))

    def _chain(self, n: int, chance: float) -> int:
        k = 0
        while k < n and self.random.random() < chance:
            k += 1
        return k

    def _serve(self, option: Option, found, law: Law, estimates: Estimates) -> tuple[float, float, int]:
        top = len(NAMES) - 1
        target = self.costs["target"]
        if not option.models:
            n = option.nodes
            chance = found[1] if found else 0.0
            ms = float(target.verifying(n + 1)[-1])
            kept = self._chain(n, chance)
            if n:
                estimates.see_direct((option.gain - 1) / estimates.kept, kept)
            return ms + target.overhead, sum(chance**k for k in range(n + 1)), kept + 1
        chain = tuple((NAMES[m], look) for m, look in option.models)
        this = law.round("db" if option.looked_up else None, (*chain, ("target", None)))
        gain = float(this.mean())
        ms = float(law.times(this, None).sum()) * gain
        late = 0.0
        for m, _ in option.models:
            cost = self.costs[NAMES[m]].drafting(self.pending[m])
            late += float(cost[-1] - cost[1])
        kept = self._call((*option.models, (top, 1)), option.looked_up, estimates)
        return ms + late, gain, kept

    def _call(self, chain, looked_up: bool, estimates: Estimates) -> int:
        """The loop with coins for models: tokens that the last of ``chain`` hands up. The estimates are told of all forwards."""
        model, look = chain[-1]
        if len(chain) == 1 and not looked_up:
            return look
        tokens = 0
        while tokens < look:
            if len(chain) == 1:
                n, chance, _ = self.look()
                kept = self._chain(n, chance)
                estimates.see_tree(model, n, kept)
            else:
                n, below = self._call(chain[:-1], looked_up, estimates), chain[-2][0]
                kept = self._chain(n, self.edges[NAMES[below], NAMES[model]])
                estimates.see_chain(below, model, min(kept + 1, n), kept)
            tokens += kept + 1
        return tokens


def line(first: float, slope: float, overhead: float = 0.0, step: float | None = None) -> LevelCost:
    return LevelCost(tuple(first * (1 + slope * m) for m in range(80)), None if step is None else (step,), overhead)


def edges(nano: float, small: float, between: float) -> dict:
    return {("nano", "target"): nano, ("small", "target"): small, ("nano", "small"): between}


FLAT = {"nano": line(0.05, 0.02), "small": line(0.3, 0.02), "target": line(1.0, 0.03, 0.05)}
STEEP = {"nano": line(0.4, 0.3), "small": line(0.7, 0.3), "target": line(1.0, 0.4)}
WIDE = {"nano": line(0.01, 0.02), "small": line(0.12, 0.02), "target": line(1.0, 0.01)}
WORLDS = {
    "a cheap draft": lambda: World(FLAT, edges(0.6, 0.75, 0.7)),
    "a dear one that is always right": lambda: World(FLAT, edges(0.1, 0.99, 0.1)),
    "nothing pays": lambda: World(STEEP, edges(0.3, 0.4, 0.5), ((0.4, 6, 0.2, 0.5),), 0.05),
    "a hierarchy": lambda: World(WIDE, edges(0.55, 0.9, 0.8)),
    "a database now and then": lambda: World(
        FLAT, edges(0.5, 0.6, 0.6), ((0.5, 8, 0.95, 0.9), (0.3, 6, 0.2, 0.25)), 0.03
    ),
    "a database and a draft in turn": lambda: World(
        FLAT, edges(0.8, 0.85, 0.8), ((0.4, 12, 0.97, 0.95), (0.3, 6, 0.1, 0.2)), 0.02
    ),
    "a database that promises too much": lambda: World(FLAT, edges(0.6, 0.7, 0.6), ((0.9, 8, 0.3, 0.85),), 0.05),
    "a database that is always right": lambda: World(FLAT, edges(0.5, 0.6, 0.6), ((0.9, 12, 0.97, 0.9),), 0.03),
}


def latency(rounds: list[tuple[float, float]]) -> float:
    return sum(c for c, _ in rounds) / sum(g for _, g in rounds)


def known_costs(world: World) -> Estimates:
    """Costs as they are, acceptance unknown."""
    calibration = Calibration(NAMES, world.costs, {}, {}, {"db": LookupCost(world.lookup)} if world.finds else {})
    return Estimates(
        NAMES, (1, 4, 16), bottom="db" if world.finds else None, calibration=calibration, learn_costs=False
    )


#: As measured once on a shipped ladder at temperature 1: options lie close together, and a look-up is dear.
CLOSE = {
    "nano": LevelCost(line(0.12, 0.1).forward, (0.067,), 0.03, 0.096),
    "small": LevelCost(line(0.46, 0.11).forward, (0.39,), 0.05, 0.17),
    "target": LevelCost((1.29, 1.48, 1.7, 1.76, 1.95, *(2.0 + 0.12 * m for m in range(60))), None, 0.094),
}
PROSE, COPIES = ((0.4, 2, 0.12, 0.3),), ((0.35, 6, 0.75, 0.75), (0.3, 2, 0.2, 0.3))


def close(finds, seed: int = 0, shift: float = 0.0) -> World:
    return World(CLOSE, edges(0.57 + shift, 0.62 + shift, 0.65), finds, 0.07, seed)
