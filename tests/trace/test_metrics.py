"""Metrics worked out by hand, and identities that notice when a trace is wrong."""

from __future__ import annotations

import pytest
from samples import sample_trace

from hsd_viz.engine.replay import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check, repetition_share
from tests.changes import change_row, replace_rows


def test_metrics_by_hand():
    m = sample_trace().metrics()
    assert (m["tokens"], m["rounds"], m["drafted"], m["accepted"]) == (4, 2, 4, 2)
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
    found, verifications = (
        trace.metrics()["target_forwards"],
        [row for row in trace.call_rows if row.kind == "verify"],
    )
    assert found == sum(row.parent is None for row in trace.round_rows) < len(verifications)


def test_an_empty_trace_has_no_rates_and_identities_hold():
    empty = Trace({"prefill_ns": 0, "wall_ns": 0})
    assert empty.metrics()["tokens"] == 0
    assert (
        empty.metrics()["acceptance_rate"] is None and empty.metrics()["tokens_per_second"] is None
    )
    check(empty)
    check(sample_trace())


def test_repetition_share_counts_tokens_that_end_a_seen_8_gram():
    assert repetition_share([]) == 0
    assert repetition_share(list(range(50))) == 0
    # A period of 10: from the 18th token on every 8-gram was there before.
    assert repetition_share([k % 10 for k in range(40)]) == (40 - 17) / 40


@pytest.mark.parametrize(
    ("table", "k", "change"),
    [
        ("tokens", 2, {"index": 7}),
        ("tokens", 0, {"source": "model"}),
        ("tokens", 0, {"token_id": 8}),
        ("tokens", 0, {"kind": "bonus", "source": "target"}),
        ("tokens", 0, {"round": 99}),
        ("rounds", 0, {"drafted": 4}),
        ("rounds", 0, {"accepted": 2}),
        ("rounds", 1, {"outcome": "stopped"}),
        ("rounds", 1, {"parent": 0}),
        ("drafts", 0, {"verdict": "rejected"}),
        ("drafts", 0, {"round": 9}),
        ("calls", 0, {"duration_ns": 5_000}),
    ],
)
def test_identities_notice(table, k, change):
    trace = sample_trace()
    change_row(trace, table, k, **change)
    with pytest.raises(ValueError, match="violates an identity"):
        check(trace)


def test_identities_notice_a_row_more_or_less():
    less, more = sample_trace(), sample_trace()
    replace_rows(less, "tokens", less.token_rows[:-1])
    more.add_rows(drafts=[more.draft_rows[0]])
    for trace in (less, more):
        with pytest.raises(ValueError, match="violates an identity"):
            check(trace)
