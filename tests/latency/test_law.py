"""Compare the law with closed forms and simulated coins; ``test_law_real.py`` has the real loop."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, OverDatabase, Tier
from hsd_viz.latency.law import NOTHING, look_up, predict, repeat, verify
from tests.latency import random_stacks


def test_tokens_from_a_database_survive_by_their_own_rate():
    """Simulate the rounds of a call with two coins; with equal coins the law is that of a single
    edge.
    """
    tier = Tier(((0, 0, 0.5), (4, 4, 0.3), (4, 1, 0.2)))
    cost = LevelCost((1.0, 1.3))
    coins = random.Random(4)
    below = verify(look_up(tier, LookupCost()), None, cost)
    over = OverDatabase(0.95, 0.4)
    verified = verify(repeat(below, 3, over), None, cost)
    gained = []
    catch_up = 0
    games = 200_000
    for _ in range(games):
        kinds: list[bool] = []
        while len(kinds) < 3:
            accepted = coins.choices([0, 4, 1], [0.5, 0.3, 0.2])[0]
            kinds += [False] * accepted + [True]
        k = next(
            (k for k, own in enumerate(kinds) if coins.random() >= (0.4 if own else 0.95)),
            len(kinds),
        )
        gained.append(k + 1)
        catch_up += k == len(kinds)
    for r, p in enumerate(verified.tokens):
        assert p == pytest.approx(gained.count(r) / games, abs=0.004)
    assert repeat(below, 3, over).full == pytest.approx(catch_up / games, abs=0.004)
    even = verify(repeat(below, 3, OverDatabase(0.7, 0.7)), None, cost)
    one = verify(repeat(below, 3), Edge(tail=0.7), cost)
    assert even.tokens == pytest.approx(one.tokens, abs=1e-12)
    assert even.times == pytest.approx(one.times, abs=1e-12)
    assert verify(NOTHING, None, cost).tokens == (0.0, 1.0)


def test_two_levels_are_the_published_formula():
    """One draft model: (g c_0 + c_1) (1 - a) / (1 - a^(g+1)), Leviathan et al. 2023."""
    for a, g, c in [(0.8, 5, 0.05), (0.3, 1, 0.2), (0.95, 16, 0.01), (1.0, 4, 0.1)]:
        calibration = Calibration(
            ("d", "target"),
            {"d": LevelCost((c,)), "target": LevelCost((1.0,))},
            {("d", "target"): Edge(tail=a)},
        )
        length = g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)
        assert predict(f"d:{g} > target", calibration).ms_per_token == pytest.approx(
            (g * c + 1) / length, rel=1e-12
        )


def test_a_database_costs_its_look_up_and_its_update_once_a_round():
    tier = Tier(((0, 0, 0.5), (2, 1, 0.5)))
    cost = LevelCost((1.0, 1.2, 1.6))
    calibration = Calibration(
        ("target",),
        {"target": cost},
        {},
        tiers={("db", "target"): tier},
        lookups={"db": LookupCost(0.1, 0.05)},
    )
    assert predict("db > target", calibration).ms_per_token == pytest.approx(
        (0.1 + 0.05 + (1.0 + 1.6) / 2) / 1.5
    )


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
