"""The helpers behind sliders say what the law says, and quickly."""

from __future__ import annotations

import time

import numpy as np
import pytest
from random_stacks import random_calibration

from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.select import select
from hsd_viz.latency.vectorised import predict
from hsd_viz.latency.whatif import second_draft, surface


def test_a_surface_is_the_law_at_every_point():
    calibration = random_calibration(np.random.default_rng(4), 3, databases=True)
    for stack, place in [
        ("a:1 > b > target", 0),
        ("db > a > b:1 > c:3 > target", 0),
        ("a:5 > b:1 > c:1 > target", 1),
        ("b:1 > target", 0),
    ]:
        found = surface(stack, calibration, most=7, place=place)
        for at in np.ndindex(found.shape):
            parts, k = [], 0
            for part in stack.split(" > "):
                name = part.split(":")[0]
                if name not in ("db", "target"):
                    part = f"{name}:{at[k - place] + 1}" if 0 <= k - place < len(at) else part
                    k += 1
                parts.append(part)
            assert found[at] == pytest.approx(predict(" > ".join(parts), calibration).ms_per_token, rel=1e-12)
    for stack, words in [("target", "0 draft models"), ("a > b > c > target", "'c'"), ("a:1 > c", "'target'")]:
        with pytest.raises(ValueError, match=words):
            surface(stack, calibration)


def test_the_map_is_the_law_at_every_point():
    """Flat costs: the figures of the map are those of the selector under the same assumptions."""
    acceptances, costs = np.array([0.5, 0.8, 0.93]), np.array([0.005, 0.05, 0.15])
    found = second_draft(acceptances, costs, cost=0.25, acceptance=0.85, closeness=0.3, most=8)
    for (k, n), both in np.ndenumerate(found.both):
        a, b = acceptances[k], 0.85
        least = max(0, a + b - 1)
        direct = least + 0.3 * (1 - abs(a - b) - least)
        models = ("s", "m", "target")
        calibration = Calibration(
            models,
            {"s": LevelCost((costs[n],)), "m": LevelCost((0.25,)), "target": LevelCost((1.0,))},
            {("s", "m"): Edge(tail=a), ("m", "target"): Edge(tail=b), ("s", "target"): Edge(tail=direct)},
        )
        low, high = found.lookaheads[k, n]
        assert both == pytest.approx(predict(f"s:{low} > m:{high} > target", calibration).ms_per_token, rel=1e-12)
        choice = select(calibration, most=8)
        assert min(both, found.one[k, n]) == pytest.approx(choice.picked.ms_per_token, rel=1e-12)
        assert found.one[k, n] == pytest.approx(
            min(choice.best_single_draft.ms_per_token, choice.plain.ms_per_token), rel=1e-12
        )
    assert (found.gain > 0).any() and (found.gain < 0).any()


def test_a_slider_can_follow():
    grid = (np.linspace(0.3, 0.98, 40), np.linspace(0.005, 0.25, 40))
    calibration = random_calibration(np.random.default_rng(1), 2)
    times = []
    for _ in range(5):
        zero = time.perf_counter()
        found = second_draft(*grid, slope=0.02)
        one = time.perf_counter()
        surface("a > b > target", calibration)
        times.append((one - zero, time.perf_counter() - one))
    quickest = np.min(times, axis=0) * 1e3
    print(
        f"\n40 x 40 map {quickest[0]:.1f} ms, 16 x 16 surface {quickest[1]:.1f} ms; "
        f"a second draft pays in {np.mean(found.gain > 0):.0%} of the map"
    )
    assert quickest[0] < 100 and quickest[1] < 50
