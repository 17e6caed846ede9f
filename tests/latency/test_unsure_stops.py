"""Test drafts that stop by confidence: their law by hand, their estimates from rounds, and their
selection.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, UnsureStop
from hsd_viz.latency.law import (
    Law,
    predict,
    repeat,
    repeat_until_unsure,
    unsure_draft,
    verify,
)
from hsd_viz.latency.select import fill, select, with_confidences
from hsd_viz.latency.traced_acceptance import rounds_of, unsure_stops
from hsd_viz.stack import ModelPart, Stack, parse
from hsd_viz.trace import CallRow, RoundRow, Trace
from tests.changes import replace_rows

#: Half of the drafts stop after one token, which is never accepted; the others have two, both
#: accepted.
HALF = UnsureStop(0.4, 2, ((1, 0, 0.5), (2, 2, 0.5)))
KNOWN = Calibration(
    models=("d", "target"),
    costs={"d": LevelCost((1.0, 3.0)), "target": LevelCost((100.0, 110.0, 130.0))},
    edges={("d", "target"): Edge((0.5, 0.5), 0.5)},
    stops={("d", "target"): (HALF,)},
)


def test_one_draft_model_by_hand():
    """d needs 1.5 passes. After full drafts, all accepted, its next pass feeds a token more: 2 ms
    in half of the rounds. The target feeds 2 or 3 tokens: (110 + 130) / 2. Tokens: 1 + 0.5 * 2.
    """
    prediction = predict("d:2?0.4 > target", KNOWN)
    assert prediction.acceptance_length == pytest.approx(2.0)
    assert prediction.forwards_per_token == pytest.approx([1.5 / 2, 1 / 2])
    assert prediction.ms_per_token == pytest.approx((1.5 + 0.5 * 2 + 120) / 2)


def test_a_shorter_lookahead_cuts_the_measured_drafts():
    """A draft of d:1 is one token, accepted in half of the rounds; these accept the full draft."""
    prediction = predict("d:1?0.4 > target", KNOWN)
    assert prediction.acceptance_length == pytest.approx(1.5)
    assert prediction.ms_per_token == pytest.approx((1 + 0.5 * 2 + 110) / 1.5)


def test_a_draft_that_is_cut_before_its_rejection_is_accepted_in_full():
    """The first of two tokens is accepted in half of the rounds; with a lookahead of 1 it is the
    full draft.
    """
    stop = UnsureStop(0.4, 2, ((2, 1, 0.5), (1, 0, 0.5)))
    call = unsure_draft(1, LevelCost((1.0, 1.0)), stop)
    assert call.tokens == (0.0, 1.0)
    assert call.reached == (1.0, 0.5)
    assert call.full == 0.5


def test_a_confidence_that_was_not_measured_is_refused():
    with pytest.raises(UserError, match=r"confidence 0\.5 is unknown: measured are 0\.4"):
        predict("d:2?0.5 > target", KNOWN)


def test_a_middle_level_that_is_never_unsure_is_the_one_without_a_confidence():
    """Drafts reach their lookahead with acceptance independent of it, so the mixture is the plain
    law.
    """
    edge = Edge(tail=0.7)
    outcomes = tuple((6, a, p) for a, p in enumerate(edge.stops(6)))
    this = verify(
        replace_tokens((0.0, 0.0, 1.0)), Edge(tail=0.8), LevelCost((10.0, 12.0, 15.0, 19.0))
    )
    plain = repeat(this, 3)
    mixed = repeat_until_unsure(this, 3, UnsureStop(0.1, 6, outcomes), edge)
    above = LevelCost((100.0, 101.0, 103.0, 107.0, 115.0, 131.0))
    assert mixed.tokens == pytest.approx(plain.tokens)
    assert mixed.times == pytest.approx(plain.times)
    assert verify(mixed, None, above).tokens == pytest.approx(verify(plain, edge, above).tokens)
    assert verify(mixed, None, above).times == pytest.approx(verify(plain, edge, above).times)


def replace_tokens(tokens):
    """Return a call of a level below that proposes this number of tokens at a cost of 1 ms."""
    from hsd_viz.latency.law import ExpectedRound

    return ExpectedRound(tokens, (1.0,), (1.0,))


def test_a_middle_level_that_is_unsure_at_once_makes_one_round():
    this = verify(replace_tokens((0.0, 1.0)), Edge(tail=0.5), LevelCost((10.0, 12.0)))
    stop = UnsureStop(0.9, 8, ((1, 1, 1.0),))
    call = repeat_until_unsure(this, 8, stop, Edge(tail=0.5))
    assert call.tokens[:3] == pytest.approx((0.0, 0.5, 0.5))
    assert call.forwards == pytest.approx((1.0, 1.0))
    # The first token is always accepted, a second one in half of the calls that have it, half of
    # the time.
    assert call.reached[:3] == pytest.approx((1.0, 1.0, 0.25))
    assert call.full == pytest.approx(0.5 + 0.25)


def test_the_law_is_that_of_simulated_rounds():
    """Compare the law of drafts that stop by confidence with 200 000 simulated rounds."""
    random = np.random.default_rng(0)
    n = 200_000
    sure = random.random((n, 4)) < 0.7
    length = np.where(sure.all(1), 4, 1 + sure.argmin(1))
    accepts = random.random((n, 4)) < np.where(sure, 0.9, 0.3)
    accepted = np.minimum(np.where(accepts.all(1), 4, accepts.argmin(1)), length)
    counts: dict[tuple[int, int], int] = {}
    for pair in zip(length.tolist(), accepted.tolist(), strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    stop = UnsureStop(0.5, 4, tuple((m, a, c / n) for (m, a), c in sorted(counts.items())))
    known = replace(KNOWN, stops={("d", "target"): (stop,)})
    prediction = predict("d:4?0.5 > target", known)
    assert prediction.acceptance_length == pytest.approx(1 + accepted.mean(), rel=1e-9)
    assert prediction.forwards_per_token[0] * prediction.acceptance_length == pytest.approx(
        length.mean(), rel=1e-9
    )


def test_selection_takes_a_confidence_where_it_pays():
    choice = select(KNOWN, max_lookahead=4)
    assert choice.picked.stack == "d:2?0.4 > target"


def test_a_hierarchy_with_a_useful_confidence_is_ranked_with_and_without_it():
    ranked = [prediction.stack for prediction in select(KNOWN, max_lookahead=4).ranked]
    of_the_draft = [stack for stack in ranked if stack.startswith("d:")]
    assert len(ranked) == 3
    assert of_the_draft[0] == "d:2?0.4 > target"
    assert "?" not in of_the_draft[1]


def test_selection_leaves_a_confidence_that_costs():
    bad = UnsureStop(0.9, 8, ((1, 0, 0.9), (1, 1, 0.1)))
    known = replace(KNOWN, stops={("d", "target"): (bad,)})
    assert "?" not in select(known, max_lookahead=4).picked.stack


def test_confidences_of_a_stack_are_those_of_its_own_pairs():
    stack = parse("d:1 > target")
    assert with_confidences(Law(KNOWN), stack, 4) == parse("d:2?0.4 > target")


def test_filling_lookaheads_keeps_a_confidence():
    filled = fill(Stack(None, (ModelPart("d", "auto", 0.4), ModelPart("target"))), KNOWN)
    assert filled.drafts[0].confidence == 0.4


def test_lookaheads_are_filled_for_drafts_that_stop():
    """Confident drafts are accepted in full, so eight tokens are worth their cost, which they are
    not for drafts that never stop.
    """
    long = UnsureStop(0.4, 8, ((1, 0, 0.5), (8, 8, 0.5)))
    known = replace(KNOWN, stops={("d", "target"): (long,)})
    assert str(fill(parse("d:auto?0.4 > target"), known)) == "d:8?0.4 > target"
    assert fill(parse("d:auto > target"), known).drafts[0].lookahead < 4


def test_lookaheads_are_not_filled_beside_a_confidence_that_was_not_measured():
    with pytest.raises(UserError, match=r"confidence 0\.5 is unknown: measured are 0\.4"):
        fill(parse("d:auto?0.5 > target"), KNOWN)


def test_a_calibration_with_stops_survives_json():
    assert Calibration.from_dict(KNOWN.to_dict()) == KNOWN
    assert KNOWN.restricted(models=()).stops == {}


def unsure_trace() -> Trace:
    """Return rounds over drafts of d:3?0.4: full ones, one cut by the limit, and one ended by an
    end token.
    """
    meta = {
        "stack": "d:3?0.4 > target",
        "models": [
            {"name": "d", "level": 0, "lookahead": 3, "confidence": 0.4},
            {"name": "target", "level": 1, "lookahead": None},
        ],
    }
    ends = [(3, 3, "length"), (1, 0, "confidence"), (1, 0, "confidence"), (2, 2, "confidence")]
    ends += [(1, 1, "limit"), (2, 1, "eos")]
    rounds = []
    for k, (m, a, end) in enumerate(ends):
        rounds.append(RoundRow(k, None, 1, m, min(m, a + 1), a, "bonus", None, k, 1, "token", end))
    trace = Trace(meta)
    replace_rows(trace, "rounds", rounds)
    names = enumerate(("d", "target"))
    calls = [CallRow(0, level, name, "verify", 1, 1, 0, 0, 1) for level, name in names]
    replace_rows(trace, "calls", calls)
    return trace


def test_what_was_drafted_and_accepted_is_counted():
    stops = unsure_stops([unsure_trace()])
    outcomes = ((1, 0, 0.5), (2, 2, 0.25), (3, 3, 0.25))
    assert stops == {("d", "target"): (UnsureStop(0.4, 3, outcomes),)}


def test_such_drafts_do_not_count_for_the_acceptance_of_the_pair():
    assert rounds_of([unsure_trace()])[0] == {}
