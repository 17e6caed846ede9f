"""Compare the times, shares and forward passes of the law with figures computed by hand."""

from __future__ import annotations

import pytest

from hsd_viz.latency.inputs import (
    Calibration,
    Edge,
    LevelCost,
    LookupCost,
    OverDatabase,
    Tier,
)
from hsd_viz.latency.law import Law, predict
from hsd_viz.latency.select import StackChoice, best_lookaheads, refine, select
from hsd_viz.stack import ModelPart

DRAFT = LevelCost((1.0, 3.0))
MIDDLE = LevelCost((10.0, 14.0, 20.0))
TARGET = LevelCost((100.0, 110.0))

#: One draft token, accepted half of the time; d's next pass then feeds two tokens: 3 - 1 = 2 ms
#: more. A round of the target: d 1 + 0.5 * 2 = 2 ms, target c(2) = 110 ms, 1.5 tokens.
ONE_DRAFT = Calibration(
    ("d", "target"), {"d": DRAFT, "target": TARGET}, {("d", "target"): Edge(tail=0.5)}
)

#: A call of m is one round, of 1 or 2 tokens, half of the time each. m verifies c(2) = 14 ms, and
#: one token more would have cost 20 - 14 = 6 ms; d takes 2 ms as above. The target feeds 2 or 3
#: tokens: (110 + 120) / 2 = 115 ms; it accepts all with 0.5 * 0.8 + 0.5 * 0.4 = 0.6, so m takes 14
#: + 0.6 * 6 = 17.6 ms. Tokens: 1 + 0.8 + 0.5 * 0.4 = 2.
HIERARCHY = Calibration(
    ("d", "m", "target"),
    {"d": DRAFT, "m": MIDDLE, "target": TARGET},
    {("d", "m"): Edge(tail=0.5), ("m", "target"): Edge((0.8, 0.4), 0.5)},
)


@pytest.mark.parametrize(
    ("calibration", "stack", "times", "tokens"),
    [
        pytest.param(ONE_DRAFT, "d:1 > target", [2.0, 110.0], 1.5, id="one draft"),
        pytest.param(HIERARCHY, "d:1 > m:1 > target", [2.0, 17.6, 115.0], 2.0, id="hierarchy"),
        pytest.param(ONE_DRAFT, "target", [100.0], 1.0, id="plain"),
    ],
)
def test_times_of_every_level(calibration, stack, times, tokens):
    prediction = predict(stack, calibration)
    assert prediction.acceptance_length == pytest.approx(tokens)
    assert prediction.ms_per_token == pytest.approx(sum(times) / tokens)
    assert prediction.share == pytest.approx([time / sum(times) for time in times])
    assert prediction.forwards_per_token == pytest.approx([1 / tokens for _ in times])


def test_a_call_repeats_rounds_until_it_has_its_lookahead():
    """m:2 over d:1 gains 1 or 2 tokens per round. A second round is needed with probability 1/2:
    1.5 rounds.
    """
    prediction = predict("d:1 > m:2 > target", HIERARCHY)
    # Two tokens with 1/2 + 1/4, three with 1/4: 1 + 0.8 + 0.4 + 0.25 * 0.2 tokens.
    assert prediction.acceptance_length == pytest.approx(2.25)
    assert prediction.forwards_per_token == pytest.approx([1.5 / 2.25, 1.5 / 2.25, 1 / 2.25])


def test_gain_over_another_stack_is_in_tokens_per_second():
    law = Law(ONE_DRAFT)
    # 112 ms for 1.5 tokens, plain 100 ms for one.
    assert law.predict("d:1 > target").gain_over(law.predict("target")) == pytest.approx(
        100 / (112 / 1.5) - 1
    )


def test_the_overhead_is_paid_with_every_verification():
    cost = LevelCost((100.0,), overhead=7.0)
    calibration = Calibration(("target",), {"target": cost}, {})
    assert predict("target", calibration).ms_per_token == 107.0


def test_a_launch_is_paid_once_per_draft():
    cost = LevelCost((1.0,), draft=(2.0,), draft_overhead=5.0)
    assert list(map(cost.alone, (1, 3))) == [7.0, 11.0]


def test_scaled_costs_are_scaled_in_all_their_parts():
    cost = LevelCost((1.0, 2.0), draft=(0.5, 1.0), overhead=0.25, draft_overhead=0.125)
    assert cost.scaled(2.0) == LevelCost(
        (2.0, 4.0), draft=(1.0, 2.0), overhead=0.5, draft_overhead=0.25
    )


@pytest.mark.parametrize(
    ("curve", "fed", "ms"),
    [
        pytest.param((1.0, 2.0, 5.0), 2, 2.0, id="measured"),
        pytest.param((1.0, 2.0, 5.0), 5, 11.0, id="beyond: the last step again"),
        pytest.param((1.0, 5.0, 2.0), 5, 2.0, id="a fall at the end is noise"),
        pytest.param((3.0,), 9, 3.0, id="one entry is flat"),
    ],
)
def test_a_curve_beyond_its_widest_pass(curve, fed, ms):
    assert LevelCost(curve).verifying(fed) == ms


def test_a_survival_curve_and_where_it_stops():
    edge = Edge((0.9, 0.6), tail=0.5)
    assert edge.curve(4) == pytest.approx([1.0, 0.9, 0.6, 0.3, 0.15])
    assert edge.stops(3) == pytest.approx([0.1, 0.3, 0.3, 0.3])


def test_a_database_by_its_outcomes():
    tier = Tier(((0, 0, 0.5), (3, 1, 0.2), (3, 3, 0.3)))
    assert tier.tokens == pytest.approx(2.1)
    assert tier.drafted() == pytest.approx([0.5, 0.0, 0.0, 0.5])
    assert tier.reached() == pytest.approx([1.0, 0.5, 0.3, 0.3])


def test_tokens_from_a_database_survive_by_their_own_rate_in_the_prediction():
    """m accepts a database token with probability 1/2, so calls are [own] or [accepted, own].
    Accepted tokens survive with 0.9, own ones with 0.5.
    """
    calibration = Calibration(
        ("m", "target"),
        {"m": LevelCost((1.0,)), "target": LevelCost((10.0,))},
        {("m", "target"): Edge(tail=0.1)},
        tiers={("db", "m"): Tier(((0, 0, 0.5), (1, 1, 0.5)))},
        lookups={"db": LookupCost(0.2, 0.3)},
        over={("db > m", "target"): OverDatabase(taken=0.9, own=0.5)},
    )
    prediction = predict("db > m:1 > target", calibration)
    # 1 + (0.5 * 0.5 + 0.5 * 0.9) + 0.5 * 0.9 * 0.5 tokens; look-up and update 0.5 ms, m 1 ms,
    # target 10 ms.
    assert prediction.acceptance_length == pytest.approx(1.925)
    assert prediction.ms_per_token == pytest.approx(11.5 / 1.925)
    assert prediction.share == pytest.approx([0.5 / 11.5, 1 / 11.5, 10 / 11.5])


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        ("target", "plain"),
        ("db > target", "databases only"),
        ("d:1 > target", "one draft"),
        ("db > d:1 > target", "hierarchy"),
        ("d:1 > m:1 > target", "hierarchy"),
    ],
)
def test_the_kind_of_a_choice(stack, kind):
    calibration = Calibration(
        HIERARCHY.models,
        HIERARCHY.costs,
        {**HIERARCHY.edges, ("d", "target"): Edge(tail=0.5)},
        tiers={("db", name): Tier(((1, 1, 1.0),)) for name in HIERARCHY.models},
    )
    picked = predict(stack, calibration)
    assert StackChoice(picked, picked, None, picked, (picked,)).structure.words == kind


def test_the_best_single_draft_has_no_database_below_it():
    calibration = Calibration(
        ONE_DRAFT.models,
        {"d": LevelCost((1.0,)), "target": LevelCost((10.0,))},
        {("d", "target"): Edge(tail=0.8)},
        tiers={("db", "d"): Tier(((3, 3, 1.0),))},
    )
    choice = select(calibration, max_lookahead=4)
    # A database that d always accepts gives it four tokens a pass.
    assert choice.picked.stack.startswith("db > d:")
    assert choice.best_single_draft.stack.startswith("d:")


def three_drafts() -> Calibration:
    """Return three draft models whose lookaheads are too long in the polynomial selection, where
    the search starts.
    """
    costs = {
        "a": LevelCost((0.3,)),
        "b": LevelCost((2.0,)),
        "c": LevelCost((4.0,)),
        "target": LevelCost((40.0,)),
    }
    edges = {
        ("a", "b"): Edge(tail=0.9),
        ("b", "c"): Edge(tail=0.8),
        ("c", "target"): Edge(tail=0.8),
    }
    return Calibration(tuple(costs), costs, edges)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_lookahead_of_three_drafts_is_tuned(place):
    law = Law(three_drafts())
    hierarchy = (None, ("a", "b", "c"))
    best = best_lookaheads(law, hierarchy, max_lookahead=8)
    others = [(*best[:place], other, *best[place + 1 :]) for other in range(1, 9)]
    assert law.ms(hierarchy, best) == min(law.ms(hierarchy, other) for other in others)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_lookahead_that_is_refined_leaves_its_start(place):
    law = Law(three_drafts())
    start = tuple(ModelPart(name, 1) for name in "abc")
    drafts = refine(law, None, start, [place], max_lookahead=8)
    lookaheads = [draft.lookahead for draft in drafts]
    assert lookaheads[place] > 1
    assert sum(lookaheads) == lookaheads[place] + 2
