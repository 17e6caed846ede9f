"""Imported requests as runs: what the page, the views and figures show of rounds without tokens."""

from __future__ import annotations

import pytest

import hsd_viz as hsd
from hsd_viz.cli import main
from hsd_viz.errors import Unsupported
from hsd_viz.records.sample import RecordedVerification, Sample
from hsd_viz.records.series import Series
from hsd_viz.records.served import served_run
from hsd_viz.records.traces import trace_of_series
from hsd_viz.trace.identities import check
from hsd_viz.views.run_data import head, read_trace


def served(*rounds, seconds=None, prefill_seconds=None):
    """Return the imported trace of a request with rounds of (drafted, accepted[, ns])."""
    sample = Sample(
        verifications=tuple(RecordedVerification(*row) for row in rounds),
        drafts=len(rounds),
        seconds=seconds,
        prefill_seconds=prefill_seconds,
    )
    return trace_of_series(Series("sglang", "0.5.9", "response", (sample,)))


def test_a_round_is_its_tokens_in_order():
    """Three drafted, two accepted: accepted, accepted, rejected; then all of two, and nothing
    drafted.
    """
    run = served_run(served((3, 2), (2, 2), (0, 0)))
    check(run)
    assert run.columns["drafts"]["verdict"] == [
        "accepted",
        "accepted",
        "rejected",
        "accepted",
        "accepted",
    ]
    assert run.columns["tokens"]["kind"] == [
        *("accepted", "accepted", "correction", "accepted", "accepted", "bonus", "plain")
    ]
    assert run.columns["tokens"]["depth"] == [1, 2, 0, 1, 2, 0, 0]
    assert run.columns["drafts"]["parent"] == [-1, 0, 1, -1, 0]
    assert set(run.columns["tokens"]["p"]) == {None}
    assert served_run(run) is run


def test_tokens_after_the_rejected_one_were_not_examined():
    run = served_run(served((4, 1)))
    assert run.columns["drafts"]["verdict"] == ["accepted", "rejected", "unreached", "unreached"]


def test_rounds_share_the_time_of_the_request():
    """0.2 s of decoding after 0.1 s: two rounds of 0.1 s from 0.1 s on."""
    run = served_run(served((3, 2), (3, 0), seconds=0.2, prefill_seconds=0.1))
    assert run.columns["rounds"]["start_ns"] == [100_000_000, 200_000_000]
    assert run.meta["wall_ns"] == 300_000_000
    assert "equal rounds that share the time of the request" in run.prompt


def test_recorded_times_are_kept_and_unknown_ones_are_called_so():
    run = served_run(served((3, 2, 5), (3, 0, 7)))
    assert run.columns["rounds"]["duration_ns"] == [5, 7]
    assert "as recorded" in run.prompt
    assert "of unknown times" in served_run(served((3, 2), (3, 0))).prompt


def test_the_page_opens_it_and_certifies_no_rule_of_an_engine(tmp_path, capsys):
    trace = served((3, 2), (3, 0), seconds=0.2)
    opened = read_trace(trace.to_bytes(), "served.json.gz")
    sent = head(opened.meta)
    assert sent["levels"] == ["sglang/draft", "sglang/target"]
    assert sent["meta"]["sampling"] == {"rule": "sglang"}
    path = trace.save(tmp_path / "served.json.gz")
    assert main(["export", str(path), "--html", str(tmp_path / "run.html")]) == 0
    assert len(hsd.views.overview(path).children) == 4


def test_a_record_without_rounds_has_no_run():
    whole = Series("vllm", "0.11", "line", (Sample(drafts=10, drafted=30, accepted=12),))
    with pytest.raises(Unsupported, match="without the draft of each round has no run to show"):
        served_run(trace_of_series(whole))
