"""The law against the loop: played with coins, and run for real over table models."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import random_stacks
from simulate import CoinLoop, simulate

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, OverDatabase, Tier
from hsd_viz.latency.law import NOTHING, look_up, predict, repeat, verify


def random_stack(seed: int):
    """(calibration, stack text, lookaheads, coin loop) of 2 to 4 models, every third with a database below."""
    random = np.random.default_rng(seed)
    drafts, databases = int(random.integers(1, 4)), seed % 3 == 2
    calibration = random_stacks.random_calibration(random, drafts, databases=databases)
    lookaheads = [int(g) for g in random.integers(1, 11, drafts)]
    models = calibration.models
    stack = " > ".join([f"{m}:{g}" for m, g in zip(models, lookaheads, strict=False)] + ["target"])
    survivals = [calibration.edges[pair].curve(200) for pair in itertools.pairwise(models)]
    drawn = None
    if databases:
        stack = f"db > {stack}"
        tier = calibration.tiers["db", models[0]]
        outcomes = [(m, a) for m, a, _ in tier.outcomes]
        ready: list = []

        def drawn():
            if not ready:
                ready.extend(random.choice(len(outcomes), 4096, p=[c for _, _, c in tier.outcomes]).tolist())
            return outcomes[ready.pop()]

    return calibration, stack, CoinLoop(lookaheads, survivals, seed, drawn)


def price_of(calibration: Calibration, loop: CoinLoop):
    costs = [calibration.costs[m] for m in calibration.models]
    alone = loop.drafts is None
    cost_of = [c.drafting if i == 0 and alone else c.verifying for i, c in enumerate(costs)]

    def price(fed, lookups, rounds):
        total = sum(cost_of[i](m) * n for i, counts in enumerate(fed) for m, n in counts.items())
        for i, counts in enumerate(fed):
            if i == 0 and alone:
                total += costs[0].draft_overhead * counts.total() / loop.lookaheads[0]
            else:
                total += costs[i].overhead * counts.total()
        if not alone:
            total += calibration.lookups["db"].lookup * lookups + calibration.lookups["db"].update * rounds
        return total

    return price


@pytest.mark.parametrize("seed", range(8))
def test_law_is_what_the_loop_does(seed):
    calibration, stack, loop = random_stack(seed)
    measured, wrong, tokens = simulate(loop, price_of(calibration, loop), error=0.004)
    said = predict(stack, calibration)
    counted = [counts.total() / tokens for counts in loop.fed]
    assert wrong <= 0.0042 and said.ms_per_token == pytest.approx(measured, rel=0.015), stack
    assert said.forwards_per_token[-len(counted) :] == pytest.approx(counted, rel=0.018)


def test_a_backlog_of_more_than_two_tokens_costs_little():
    """Three levels of high acceptance and costs that rise steeply: the law counts backlogs of 3 and 4 tokens as 2."""
    names = ("a", "b", "c", "target")
    calibration = Calibration(
        names,
        {m: LevelCost(tuple(1.0 + 0.2 * k for k in range(20))) for m in names},
        {pair: Edge(tail=0.9) for pair in itertools.pairwise(names)},
    )
    loop = CoinLoop([2, 3, 4], [Edge(tail=0.9).curve(60)] * 3, 3)
    tokens = loop.run(150_000)
    assert set(loop.fed[0]) == {1, 2, 3, 4}
    spent = sum((0.8 + 0.2 * m) * n for counts in loop.fed for m, n in counts.items()) / tokens
    assert predict("a:2 > b:3 > c:4 > target", calibration).ms_per_token == pytest.approx(spent, rel=0.03)


def test_tokens_from_a_database_survive_by_their_own_rate():
    """Two coins, played along the rounds of a call; with equal coins the law is that of one edge."""
    tier, cost, coins = Tier(((0, 0, 0.5), (4, 4, 0.3), (4, 1, 0.2))), LevelCost((1.0, 1.3)), random.Random(4)
    below, over = verify(look_up(tier, LookupCost()), None, cost), OverDatabase(0.95, 0.4)
    found = verify(repeat(below, 3, over), None, cost)
    gained, catch_up, games = [], 0, 200_000
    for _ in range(games):
        kinds: list[bool] = []
        while len(kinds) < 3:
            accepted = coins.choices([0, 4, 1], [0.5, 0.3, 0.2])[0]
            kinds += [False] * accepted + [True]
        k = next((k for k, own in enumerate(kinds) if coins.random() >= (0.4 if own else 0.95)), len(kinds))
        gained.append(k + 1)
        catch_up += k == len(kinds)
    for r, p in enumerate(found.tokens):
        assert p == pytest.approx(gained.count(r) / games, abs=0.004)
    assert repeat(below, 3, over).full == pytest.approx(catch_up / games, abs=0.004)
    even = verify(repeat(below, 3, OverDatabase(0.7, 0.7)), None, cost)
    one = verify(repeat(below, 3), Edge(tail=0.7), cost)
    assert even.tokens == pytest.approx(one.tokens, abs=1e-12) and even.times == pytest.approx(one.times, abs=1e-12)
    assert verify(NOTHING, None, cost).tokens == (0.0, 1.0)


def test_two_levels_are_the_published_formula():
    """One draft model: (g c_0 + c_1) (1 - a) / (1 - a^(g+1)), Leviathan et al. 2023."""
    for a, g, c in [(0.8, 5, 0.05), (0.3, 1, 0.2), (0.95, 16, 0.01), (1.0, 4, 0.1)]:
        calibration = Calibration(
            ("d", "target"), {"d": LevelCost((c,)), "target": LevelCost((1.0,))}, {("d", "target"): Edge(tail=a)}
        )
        length = g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)
        assert predict(f"d:{g} > target", calibration).ms_per_token == pytest.approx((g * c + 1) / length, rel=1e-12)


def test_a_database_costs_its_look_up_and_its_update_once_a_round():
    tier, cost = Tier(((0, 0, 0.5), (2, 1, 0.5))), LevelCost((1.0, 1.2, 1.6))
    found = Calibration(
        ("target",), {"target": cost}, {}, tiers={("db", "target"): tier}, lookups={"db": LookupCost(0.1, 0.05)}
    )
    assert predict("db > target", found).ms_per_token == pytest.approx((0.1 + 0.05 + (1.0 + 1.6) / 2) / 1.5)


def test_what_is_not_known_is_said():
    calibration = random_stacks.random_calibration(np.random.default_rng(0), 2)
    for stack, words in [
        ("a > target", "no lookahead"),
        ("x:4 > target", "'x'"),
        ("db > target", "'db > target'"),
        ("b:2 > a:2 > target", "b > a"),
    ]:
        with pytest.raises(ValueError, match=words):
            predict(stack, calibration)
    assert Calibration.from_dict(calibration.to_dict()) == calibration
    with pytest.raises(ValueError, match="not a calibration"):
        Calibration.from_dict({"models": ["a"]})
