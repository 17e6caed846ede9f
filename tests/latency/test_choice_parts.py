"""What the choice is made of: times and their pace, costs between the figures, acceptance as it is seen."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from worlds import NAMES, PROSE, close

from hsd_viz.adaptive.online import Acceptance, Curve, Pace, RobustMinimum
from hsd_viz.adaptive.options import Estimates, Option
from hsd_viz.latency.costs import LevelCost


def test_times_are_their_lower_part():
    """A forward that other work stretches now and then costs what it costs in peace; one that has become slow is believed."""
    noise = random.Random(1)
    low = RobustMinimum(0.0)
    for _ in range(300):
        low.see(noise.choice([0.0, 0.05, 0.1, 0.1, 1.0, 2.5]))
    assert 0.0 < low.value < 0.35
    for _ in range(10):
        low.see(3.0)
    assert low.value > 2.5


def test_the_pace_of_a_kind():
    """All kinds of rounds follow the machine; one that takes half as long again as its curve says is told from it."""
    pace, noise = Pace(known=True), random.Random(2)
    for k in range(2000):
        kind = "abc"[k % 3]
        truth = 2.0 * (1.25 if kind == "b" else 1.0)
        pace.see(kind, truth / pace.of(kind) * noise.choice([1, 1, 1.02, 1.05, 4.0]))
    assert 1.8 < pace.of("a") < 2.2 and abs(pace.of("a") / pace.of("c") - 1) < 0.03
    assert 1.12 < pace.of("b") / pace.of("a") < 1.3
    alone = pace.of("b") / pace.of("a")
    for _ in range(100):
        pace.see("a", 4.0 / pace.of("a"))
    assert abs(pace.of("b") / pace.of("a") / alone - 1) < 0.1, "a machine that slows down slows all"


def test_a_curve_between_and_beyond_its_figures():
    curve = Curve(LevelCost((1.0, 1.2, 1.5), (0.5,), 0.1, 0.2))
    assert (curve.at(1), curve.at(3), curve.at(5), curve.between(2.5)) == pytest.approx((1.0, 1.5, 2.1, 1.35))
    assert curve.at(200) == pytest.approx(1.5 + 0.3 * 197)
    assert curve.catching_up(1) == 0 and curve.catching_up(3) == pytest.approx(0.25)


def test_censored_acceptance():
    """Accepted over examined, the first token by itself."""
    edge = Acceptance(0.5, 0.5)
    for _ in range(400):
        edge.see(1, 0)
        edge.see(4, 4)
    assert abs(edge.first.value - 0.5) < 0.05 and edge.later.value > 0.95
    assert abs(edge.tokens(2) - 1 - edge.first.value * (1 + edge.later.value)) < 1e-9
    assert edge.first.high(1000) > edge.first.high(0) > edge.first.value


def test_a_few_misses_are_not_believed_for_ever():
    """Drafts that have become short because of them no longer show later tokens, which must not keep drafts short."""
    edge = Acceptance(0.6, 0.6)
    for _ in range(100):
        edge.see(3, 2)
    before = edge.later.value
    for _ in range(12):
        edge.see(2, 1)
    low = edge.later.value
    for _ in range(60):
        edge.see(1, 1)
    assert low < before - 0.03 < edge.later.value


def test_measured_costs_are_not_thrown_away():
    """A calibration's costs stay until round after round says otherwise: neither a slow beginning nor one slow kind stands in for them."""
    estimates = Estimates(NAMES, (1, 4, 16), bottom="db", calibration=close(PROSE).calibration())
    before = estimates.plain
    estimates.see_round(Option(0, ((0, 3),), False, 2.0, 2.0), 40.0)
    assert estimates.plain == before
    for _ in range(100):
        estimates.see_round(Option(0, ((0, 3),), False, 2.0, 2.0), 2.4)
    assert before < estimates.plain


def test_costs_that_are_not_to_be_learnt_have_to_be_known():
    with pytest.raises(ValueError, match="calibration"):
        Estimates(NAMES, (1, 4, 16), learn_costs=False)


def test_every_pair_of_models_is_an_option():
    families = Estimates(("a", "b", "c", "target"), (1, 2, 3, 4), bottom="db").families
    wanted = {(m, db) for n in (1, 2) for m in combinations(range(3), n) for db in (False, True)}
    assert {(f.members, f.looked_up) for f in families} == wanted
