"""Draw random calibrations and stacks for tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier

NAMES = ("a", "b", "c", "d", "e", "f", "g")


def random_cost(random: np.random.Generator, scale: float) -> LevelCost:
    """Return a cost curve that rises with the tokens fed, with separate drafting costs and
    overheads.
    """
    steps = random.exponential(0.12, 24) * (random.random(24) < 0.7)
    curve = tuple((scale * (1 + np.cumsum([0, *steps]))).tolist())
    draft = (0.9 * scale, 1.0 * scale, 1.3 * scale)
    return LevelCost(
        curve,
        draft if random.random() < 0.5 else None,
        0.05 * scale * random.random(),
        0.2 * scale * random.random(),
    )


def random_edge(random: np.random.Generator, low: float = 0.35, high: float = 0.95) -> Edge:
    """Return an edge: either independent acceptance or a curve like a measured one."""
    if random.random() < 0.5:
        return Edge(tail=float(random.uniform(low, high)))
    hazards = random.uniform(low, high, int(random.integers(1, 12)))
    return Edge(tuple(np.cumprod(hazards).tolist()), float(random.uniform(low, high)))


def chain_tier(hit_rate: float, lengths: Sequence[float], edge: Edge) -> Tier:
    """Return a tier of chains: ``lengths[k - 1]`` is the probability of k tokens given a hit."""
    outcomes = [(0, 0, 1.0 - hit_rate)]
    for k, chance in enumerate(lengths, start=1):
        outcomes += [(k, a, hit_rate * chance * float(p)) for a, p in enumerate(edge.stops(k))]
    return Tier(tuple(outcomes))


def random_tier(random: np.random.Generator) -> Tier:
    lengths = random.dirichlet(np.ones(int(random.integers(1, 9))))
    return chain_tier(
        float(random.uniform(0.2, 0.9)), tuple(lengths.tolist()), random_edge(random, 0.3, 0.9)
    )


def random_calibration(
    random: np.random.Generator, drafts: int, *, databases: bool = False, ladder: bool = False
) -> Calibration:
    """Return draft models and a target of cost about 1, with an edge for each pair.

    In a ``ladder``, the models are points on a line and acceptance falls with their distance, so
    that hierarchies are sometimes worth their cost.
    """
    models = (*NAMES[:drafts], "target")
    scales = np.sort(np.exp(random.uniform(np.log(0.01), np.log(0.6), drafts)))
    costs = {m: random_cost(random, float(s)) for m, s in zip(models, [*scales, 1.0], strict=True)}
    # Each model drafts for each larger one.
    edges = {pair: random_edge(random) for pair in combinations(models, 2)}
    if ladder:
        steps = random.uniform(0.03, 0.25, drafts)
        for draft, verifier in edges:
            far = steps[models.index(draft) : models.index(verifier)].sum()
            edges[draft, verifier] = Edge(tail=float(max(0.05, 1 - far)))
    tiers = {("db", v): random_tier(random) for v in models} if databases else {}
    lookups = (
        {"db": LookupCost(float(random.uniform(0, 0.05)), float(random.uniform(0, 0.1)))}
        if databases
        else {}
    )
    return Calibration(models, costs, edges, tiers, lookups)
