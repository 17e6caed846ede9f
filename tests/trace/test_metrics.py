"""Compare metrics with figures computed by hand, and test that identities detect wrong traces."""

from __future__ import annotations

import pytest

from hsd_viz.engine.recordings import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.identities import check
from hsd_viz.trace.metrics import repetition_share, target_round_of
from tests.changes import change_row, replace_rows, set_values
from tests.rows import select
from tests.trace.samples import hierarchy_trace, sample_trace


def test_metrics_by_hand():
    m = sample_trace().metrics()
    assert m["tokens"] == 4
    assert m["rounds"] == 2
    assert m["drafted"] == 4
    assert m["accepted"] == 2
    assert m["acceptance_rate"] == 2 / 4
    assert m["conditional_acceptance"] == 2 / 3
    assert m["mean_acceptance_length"] == 4 / 2
    assert m["seconds"] == pytest.approx(4e-6)
    assert m["tokens_per_second"] == pytest.approx(4 / 4e-6)
    assert m["draft_seconds_per_round"] == pytest.approx(100e-9)
    assert m["accepted_by_source"] == {"context": 1, "statistics": 1}
    assert m["emitted_by_source"] == {"context": 1, "target": 2, "statistics": 1}
    assert m["drafted_by_source"] == {"context": 2, "statistics": 2}
    assert m["levels"] == [
        {
            "level": 1,
            "rounds": 2,
            "drafted": 4,
            "examined": 3,
            "accepted": 2,
            "acceptance_rate": 0.5,
            "conditional_acceptance": 2 / 3,
            "accepted_histogram": [0, 2],
        }
    ]
    assert sum(m["emitted_by_source"].values()) == m["tokens"]


def test_forward_passes_are_those_of_the_target_alone():
    trace = load_bundled("hierarchy")
    forwards = trace.metrics()["target_forwards"]
    verifications = select(trace.call_rows, kind="verify")
    assert forwards == sum(row.parent is None for row in trace.round_rows) < len(verifications)


def test_an_empty_trace_has_no_rates_and_identities_hold():
    empty = Trace({"prefill_ns": 0, "wall_ns": 0})
    assert empty.metrics()["tokens"] == 0
    assert empty.metrics()["acceptance_rate"] is None
    assert empty.metrics()["tokens_per_second"] is None
    check(empty)
    check(sample_trace())


def test_repetition_share_counts_tokens_that_end_a_seen_8_gram():
    assert repetition_share([]) == 0
    assert repetition_share(list(range(50))) == 0
    # A period of 10: from the 18th token on every 8-gram was there before.
    assert repetition_share([k % 10 for k in range(40)]) == (40 - 17) / 40


INDICES = "token indices run from 0: [0, 1, 7, 3] is not [0, 1, 2, 3]"
ONE_ROW = "token 0: one accepted draft row: 0 is not 1"
ACCEPTED_TOKENS = "round 0 of the target: accepted tokens: 0 is not 1"
DRAFTED = "round 0: drafted = accepted + rejected + unreached + cut: 4 is not 3"
PARENT = "round 1: its parent 0 is of a level above: False is not True"
NO_ROUND = "draft of round 9: there is such a round: False is not True"
TIME = "calls took 6700 ns of 4500 ns: at most all: False is not True"


@pytest.mark.parametrize(
    ("table", "k", "change", "identity"),
    [
        ("tokens", 2, {"index": 7}, INDICES),
        ("tokens", 0, {"source": "model"}, ONE_ROW),
        ("tokens", 0, {"token_id": 8}, ONE_ROW),
        ("tokens", 0, {"depth": 2}, ONE_ROW),
        ("tokens", 0, {"kind": "bonus", "source": "target"}, ACCEPTED_TOKENS),
        ("tokens", 0, {"round": 99}, ACCEPTED_TOKENS),
        ("rounds", 0, {"drafted": 4}, DRAFTED),
        ("rounds", 0, {"accepted": 2}, "round 0: accepted: 2 is not 1"),
        ("rounds", 1, {"outcome": "stopped"}, "round 1 of the target: bonus tokens: 1 is not 0"),
        ("rounds", 1, {"parent": 0}, PARENT),
        ("drafts", 0, {"verdict": "rejected"}, "round 0: accepted: 1 is not 0"),
        ("drafts", 0, {"round": 9}, NO_ROUND),
        ("calls", 0, {"duration_ns": 5_000}, TIME),
    ],
)
def test_each_identity_notices_by_itself(table, k, change, identity):
    trace = sample_trace()
    set_values(trace, table, k, change)
    with pytest.raises(ValueError) as error:
        check(trace)
    assert str(error.value) == f"the trace violates an identity: {identity}"


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("tokens", 2),
        ("rounds", 1),
        ("drafted", 2),
        ("accepted", 1),
        ("acceptance_rate", 1 / 2),
        ("conditional_acceptance", 1 / 2),
        ("target_forwards", 1),
        ("mean_acceptance_length", 2.0),
        # Without the 1 us of prefill.
        ("seconds", 20e-6),
        ("prefill_seconds", 1e-6),
        ("tokens_per_second", 2 / 20e-6),
        # Two look-ups and the update, for one round of the target.
        ("draft_seconds_per_round", 600e-9),
        ("repetition_share", 0.0),
        # Drafts of the target's rounds alone.
        ("drafted_by_source", {"context": 1, "m": 1}),
        ("accepted_by_source", {"context": 1}),
        ("emitted_by_source", {"context": 1, "target": 1}),
    ],
)
def test_a_metric_of_a_hierarchy_by_hand(metric, value):
    check(hierarchy_trace())
    figure = hierarchy_trace().metrics()[metric]
    assert figure == (pytest.approx(value) if isinstance(value, float) else value)


def test_levels_of_a_hierarchy_by_hand():
    middle, target = hierarchy_trace().metrics()["levels"]
    assert middle == {
        "level": 1,
        "rounds": 2,
        "drafted": 2,
        "examined": 2,
        "accepted": 1,
        "acceptance_rate": 0.5,
        "conditional_acceptance": 0.5,
        "accepted_histogram": [1, 1],
    }
    assert target["accepted_histogram"] == [0, 1]


def test_calls_of_a_hierarchy_by_hand():
    calls = {}
    for call in hierarchy_trace().metrics()["calls_by_level"]:
        calls[(call["level"], call["name"], call["kind"])] = (
            call["calls"],
            call["steps"],
            call["fed"],
            call["seconds"],
        )
    assert calls == {
        (0, "db", "lookup"): (2, 2, 2, pytest.approx(300e-9)),
        (0, "db", "update"): (1, 1, 2, pytest.approx(300e-9)),
        (1, "m", "verify"): (2, 2, 5, pytest.approx(4e-6)),
        (2, "target", "prefill"): (1, 1, 9, pytest.approx(900e-9)),
        (2, "target", "verify"): (1, 1, 3, pytest.approx(2.5e-6)),
    }


def test_the_target_round_of_every_round():
    assert target_round_of(hierarchy_trace().round_rows) == {0: 0, 1: 0, 2: 0}


def test_the_accepted_tokens_of_a_round_below_the_target_are_checked():
    trace = hierarchy_trace()
    change_row(trace, "rounds", 2, accepted=1)
    with pytest.raises(ValueError, match="round 2: accepted: 1 is not 0"):
        check(trace)


def test_identities_notice_a_row_more_or_less():
    less = sample_trace()
    more = sample_trace()
    replace_rows(less, "tokens", less.token_rows[:-1])
    more.add_rows(drafts=[more.draft_rows[0]])
    for trace in (less, more):
        with pytest.raises(ValueError, match="violates an identity"):
            check(trace)


def test_a_trace_in_one_line():
    assert repr(sample_trace()) == (
        "Trace('db > target': 4 tokens, 2 target rounds, 2.00 tokens per target forward pass, "
        "50% of draft tokens accepted, 1000000 tokens/s after prefill, 0% repetition)"
    )


def test_a_round_of_a_damaged_record_is_refused():
    trace = sample_trace()
    change_row(trace, "rounds", 0, accepted=1024)
    assert len(trace.metrics()["levels"][0]["accepted_histogram"]) == 1025
    change_row(trace, "rounds", 0, accepted=1025)
    with pytest.raises(ValueError, match="a round accepted 1025 tokens: the maximum is 1024"):
        trace.metrics()
