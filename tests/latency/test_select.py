"""Test selection against brute force over stacks and lookaheads, its speed, and its messages."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import numpy as np
import pytest

from hsd_viz.latency.hierarchies import hierarchies, split
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import Law, predict
from hsd_viz.latency.select import fill, select
from hsd_viz.latency.shortest import shortest_path
from hsd_viz.results.kinds import Structure
from hsd_viz.stack import parse
from tests.latency.random_stacks import chain_tier, random_calibration
from tests.rows import column


def every_stack(calibration: Calibration, most: int, max_drafts: int | None = None):
    """Yield the database (or ``None``), draft models and lookaheads of each stack."""
    drafts = calibration.models[:-1]
    for n in range((len(drafts) if max_drafts is None else max_drafts) + 1):
        for subset in itertools.combinations(drafts, n):
            for lookaheads in itertools.product(range(1, most + 1), repeat=n):
                for bottom in (None, *calibration.databases):
                    yield bottom, subset, lookaheads


def affine_by_hand(calibration: Calibration, bottom, subset, lookaheads) -> float:
    """Return the affine form of a stack, summed level by level."""
    ms = None
    chain = (*subset, calibration.target)
    for level, model in enumerate(chain):
        cost = calibration.costs[model]

        def own(m, cost=cost):
            return cost.verifying(m) + cost.overhead

        update = calibration.lookup(bottom).update if bottom and level == len(chain) - 1 else 0.0
        if level > 0:
            g = lookaheads[level - 1]
            edge = calibration.edges[chain[level - 1], model]
            before = calibration.costs[chain[0]]
            below = (
                g * ms if level > 1 or bottom else g * before.drafting(1) + before.draft_overhead
            )
            ms = (below + own(1 + g) + update) / sum(edge.curve(g))
        elif bottom:
            outcomes = calibration.tiers[bottom, model].outcomes
            spent = calibration.lookup(bottom).lookup + sum(p * own(1 + m) for m, _, p in outcomes)
            ms = (spent + update) / (1 + sum(p * a for _, a, p in outcomes))
        elif not subset:
            ms = own(1)
    return ms


def text(bottom, subset, lookaheads) -> str:
    return " > ".join(
        [
            *([bottom] if bottom else []),
            *(f"{m}:{g}" for m, g in zip(subset, lookaheads, strict=True)),
            "target",
        ]
    )


def test_the_shortest_path_is_the_best_of_the_affine_form():
    kinds = Counter()
    for seed in range(240):
        random = np.random.default_rng(seed)
        drafts = seed % 4
        calibration = random_calibration(
            random, drafts, databases=seed % 2 == 0, ladder=seed % 3 > 0
        )
        limit = None if seed % 5 else min(1, drafts)
        most = (5, 8, 6, 5)[drafts]
        levels = 99 if limit is None else limit + 1
        allowed = (
            s
            for s in every_stack(calibration, most, limit)
            if len(s[1]) + (s[0] is not None) + 1 <= levels
        )
        best = min((affine_by_hand(calibration, *s), s) for s in allowed)
        shortest = shortest_path(
            calibration, max_lookahead=most, max_levels=None if limit is None else levels
        )
        assert str(shortest) == text(*best[1])
        kinds[shortest.bottom is not None, len(shortest.drafts)] += 1
        along = split(shortest)[0]
        assert shortest_path(calibration, max_lookahead=most, along=along) == shortest
    print("\npicks of the shortest path by (database, draft models):", dict(kinds))
    assert {(False, 0), (False, 1), (False, 2), (True, 0), (True, 1)} <= set(kinds)


def test_the_pick_is_the_best_by_the_exact_law():
    kinds = Counter()
    regrets = []
    for seed in range(24):
        random = np.random.default_rng(seed)
        calibration = random_calibration(
            random, 2 + seed % 2, databases=seed % 4 == 0, ladder=seed % 5 > 0
        )
        law = Law(calibration)
        choice = select(calibration, max_lookahead=6)
        best = min(law.predict(text(*stack)).ms_per_token for stack in every_stack(calibration, 6))
        regrets.append(choice.picked.ms_per_token / best - 1)
        kinds[choice.structure.words] += 1
    assert min(regrets) > -1e-12
    assert max(regrets) <= 1e-3
    assert {"one draft", "hierarchy"} <= set(kinds)


def test_every_answer_is_possible():
    """Databases, a single draft model, a hierarchy, and no draft model win where they must."""

    def even(a):
        return Edge(tail=a)

    costs = {"a": LevelCost((0.02,)), "b": LevelCost((0.2,)), "target": LevelCost((1.0,))}
    edges = {("a", "b"): even(0.75), ("a", "target"): even(0.6), ("b", "target"): even(0.85)}
    models = ("a", "b", "target")
    # A published example: .461 by the best single draft, .341 by both (with lookaheads near 5 and
    # 6).
    choice = select(Calibration(models, costs, edges))
    assert choice.structure.words == "hierarchy"
    assert parse(choice.picked.stack).drafts[1].name == "b"
    assert choice.best_single_draft.ms_per_token == pytest.approx(0.461, abs=0.001)
    assert choice.picked.ms_per_token == pytest.approx(0.341, abs=0.002)

    slow = {**costs, "a": LevelCost((0.9,)), "b": LevelCost((0.95,))}
    assert select(Calibration(models, slow, edges)).picked.stack == "target"
    assert (
        select(
            Calibration(models, {**slow, "a": costs["a"]}, {**edges, ("a", "b"): even(0.1)})
        ).structure
        is Structure.ONE_DRAFT
    )
    good = chain_tier(0.9, (0.0, 0.0, 0.0, 1.0), even(0.9))
    assert (
        select(Calibration(models, slow, edges, {("db", "target"): good})).picked.stack
        == "db > target"
    )
    # Where verifying many tokens is expensive, short drafts win.
    steep = {**costs, "target": LevelCost((1.0, 1.4, 1.8))}
    assert (
        max(
            column(
                parse(select(Calibration(models, steep, edges)).picked.stack).drafts, "lookahead"
            )
        )
        < 4
    )
    known = Calibration(models, costs, edges)
    assert select(known, max_levels=1).picked.stack == "target"
    assert select(known, max_levels=10**12) == select(known), "it takes no longer"
    with pytest.raises(ValueError, match="from 1 to 64"):
        select(Calibration(models, costs, edges), max_lookahead=65)


def test_selection_is_quick():
    times = []
    for seed in range(3):
        calibration = random_calibration(
            np.random.default_rng(seed), 2, databases=True, ladder=True
        )
        start = time.thread_time()
        select(calibration)
        times.append(time.thread_time() - start)
    assert min(times) < 0.2


def test_left_out_lookaheads_are_filled():
    calibration = random_calibration(np.random.default_rng(7), 2)
    every = itertools.product(range(1, 9), repeat=2)
    best = min(predict(f"a:{g} > b:{h} > target", calibration).ms_per_token for g, h in every)
    filled = fill(parse("a > b > target"), calibration)
    assert predict(filled, calibration).ms_per_token <= best * 1.02
    assert fill(parse("a > b:5 > target"), calibration).drafts[1].lookahead == 5
    levels = []
    for database, names in hierarchies(calibration, 2):
        levels.append(len(names) + (database is not None) + 1)
    assert max(levels) == 2


def test_a_database_is_a_level():
    calibration = random_calibration(np.random.default_rng(3), 3, databases=True)
    for levels in (1, 2, 3):
        enumerated = [*hierarchies(calibration, levels)]
        assert enumerated
        for database, drafts in enumerated:
            assert (database is not None) + len(drafts) + 1 <= levels
    assert any(database for database, _ in hierarchies(calibration, 2))


def test_a_plan_from_known_costs_and_acceptance():
    import hsd_viz as hsd

    choice = hsd.choose(
        costs={"small": 1, "large": [10, 11, 12]}, acceptance={"small > large": 0.8}
    )
    # 4 draft tokens: (4 + 14) ms for 1 + 0.8 + ... + 0.8^4 tokens.
    assert choice.picked.stack == "small:4 > large"
    assert choice.picked.ms_per_token == pytest.approx(18 / sum(0.8**k for k in range(5)))
    with pytest.raises(ValueError, match="not a pair of the models small, large"):
        hsd.choose(costs={"small": 1, "large": 10}, acceptance={"tiny > large": 0.8})
