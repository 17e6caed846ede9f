"""The law against the loop: played with coins, and run for real over table models."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
import random_stacks
from simulate import CoinLoop, simulate

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost
from hsd_viz.latency.vectorised import Law, predict
from hsd_viz.stack import parse


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
    tables = [c.drafting(400) if i == 0 and alone else c.verifying(400) for i, c in enumerate(costs)]

    def price(fed, lookups, rounds):
        total = sum(tables[i][m] * n for i, counts in enumerate(fed) for m, n in counts.items())
        for i, counts in enumerate(fed):
            if i == 0 and alone:
                total += costs[0].draft_overhead * counts.total() / loop.lookaheads[0]
            else:
                total += costs[i].overhead * counts.total()
        if not alone:
            total += calibration.lookups["db"].lookup * lookups + calibration.lookups["db"].update * rounds
        return total

    return price


def compare(seeds, error: float):
    """The worst relative errors over random stacks, simulated to a standard error of at most ``error``."""
    found = []
    for seed in seeds:
        calibration, stack, loop = random_stack(seed)
        measured, wrong, tokens = simulate(loop, price_of(calibration, loop), error=error)
        said = predict(stack, calibration)
        counted = [counts.total() / tokens for counts in loop.fed]
        n = np.abs(np.array(said.forwards_per_token[-len(counted) :]) / counted - 1).max()
        found.append((abs(said.ms_per_token / measured - 1), n, wrong, stack, seed))
    errors, counts = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    print(
        f"\n{len(found)} stacks: error of ms/token max {errors.max():.3%} mean {errors.mean():.3%}, "
        f"of forwards/token max {counts.max():.3%}"
    )
    print(f"largest standard error {max(f[2] for f in found):.3%}; worst {max(found)[3:]}")
    return errors.max(), counts.max(), max(f[2] for f in found)


def test_law_is_what_the_loop_does():
    latency, forwards, wrong = compare(range(15), 0.002)
    assert wrong <= 0.0021 and latency < 0.01 and forwards < 0.012


@pytest.mark.slow
def test_law_is_what_the_loop_does_on_many_stacks():
    latency, forwards, wrong = compare(range(1000, 1120), 0.0018)
    assert wrong <= 0.0021 and latency < 0.01 and forwards < 0.012


def fed_per_token(text: str, calibration: Calibration) -> tuple[np.ndarray, ...]:
    """Return, for each model of the stack, forward passes per emitted token by number of tokens fed (index 0 is not
    used).

    The law is linear in the costs, so the passes that feed m tokens are the latency where only those have a cost.
    """
    levels = len(parse(text).models)
    free = replace(
        calibration,
        costs=dict.fromkeys(calibration.costs, LevelCost((0.0,))),
        lookups=dict.fromkeys(calibration.databases, LookupCost()),
    )
    wanted = np.array(predict(text, free).forwards_per_token[-levels:])
    rows = [np.zeros(levels)]
    while np.any(sum(rows) < wanted * (1 - 1e-12)):
        assert len(rows) < 1000, "forward passes are missing from the distribution of tokens fed"
        only = LevelCost((0.0,) * (len(rows) - 1) + (1.0, 0.0, 0.0))
        top = predict(text, replace(free, costs=dict.fromkeys(free.costs, only)))
        rows.append(np.array(top.share[-levels:]) * top.ms_per_token)
    return tuple(np.array(rows).T)


def test_tokens_fed_are_followed_exactly():
    """Three levels of high acceptance: backlogs of 2, 3 and 4 occur, and a law that forgot them would be off here."""
    calibration = Calibration(
        ("a", "b", "c", "target"),
        {m: LevelCost((1.0,)) for m in ("a", "b", "c", "target")},
        {pair: Edge(tail=0.9) for pair in [("a", "b"), ("b", "c"), ("c", "target")]},
    )
    said = fed_per_token("a:2 > b:3 > c:4 > target", calibration)
    loop = CoinLoop([2, 3, 4], [Edge(tail=0.9).curve(60)] * 3, 3)
    tokens = loop.run(150_000)
    for row, counts in zip(said, loop.fed, strict=True):
        measured = np.array([counts[m] / tokens for m in range(len(row))])
        assert np.abs(row - measured).max() < 0.01 * row.max()
        assert set(counts) <= {m for m, share in enumerate(row) if share > 0}
    assert set(loop.fed[0]) == {1, 2, 3, 4} and said[0][4] > 0.02


def test_two_levels_are_the_published_formula():
    """One draft model: (g c_0 + c_1) (1 - a) / (1 - a^(g+1)), Leviathan et al. 2023."""
    for a, g, c in [(0.8, 5, 0.05), (0.3, 1, 0.2), (0.95, 16, 0.01), (1.0, 4, 0.1)]:
        calibration = Calibration(
            ("d", "target"), {"d": LevelCost((c,)), "target": LevelCost((1.0,))}, {("d", "target"): Edge(tail=a)}
        )
        length = g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)
        assert predict(f"d:{g} > target", calibration).ms_per_token == pytest.approx((g * c + 1) / length, rel=1e-12)


def test_law_is_quick():
    calibration = random_stacks.random_calibration(np.random.default_rng(0), 3)
    times = []
    for _ in range(30):
        law = Law(calibration)
        law.predict("a:1 > b:1 > c:1 > target")
        start = time.perf_counter()
        law.predict("a:16 > b:16 > c:16 > target")
        times.append(time.perf_counter() - start)
    print(f"\none evaluation of four levels, nothing remembered: {np.median(times) * 1e3:.2f} ms")
    assert min(times) < 2e-3


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
