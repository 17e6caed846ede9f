"""The verdict under the speed-up: cost and yield of a round, spread, doubts; what is impossible is not shown big."""

from __future__ import annotations

import pytest
from make_trace import make_trace

from hsd_viz.engine.beside import note_pair, note_plain
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.page_run import PACES, WATCHABLE, replay_pace
from hsd_viz.views.readout import tiles
from hsd_viz.views.run_verdict import speedup, verdict
from hsd_viz.views.standalone import page


def measured(speed: float, **plain):
    """A trace of 3 tokens in 2 rounds, its plain run at ``speed`` tokens/s."""
    return make_trace(plain={"tokens": 3, "tokens_per_second": speed, **plain})


def tile(trace) -> dict:
    (found,) = [t for t in tiles(trace) if t["label"] == "Speed-up"]
    return found


def test_the_speed_is_what_a_round_brought_over_what_it_cost():
    trace = measured(1.0)
    own = trace.metrics()["tokens_per_second"]
    trace = measured(own / 1.2)
    found = speedup(trace)
    assert found.value == pytest.approx(1.2) and not found.impossible
    length = 3 / 2
    assert verdict(trace).startswith(f"1.20×: a round cost {length / 1.2:.1f} plain steps and brought 1.5 tokens.")
    assert "One pair of runs: spread unknown." in verdict(trace)
    assert (tile(trace)["value"], tile(trace)["unit"]) == ("1.20", "×")


def test_repeated_pairs_give_the_median_and_the_range():
    own = measured(1.0).metrics()["tokens_per_second"]
    trace = measured(own, speedups=[1.0, 1.4, 1.2], load_average=5.0, cores=2)
    assert speedup(trace).value == 1.2
    words = verdict(trace)
    assert "1.00–1.40× over 3 pairs of runs." in words and "Busy machine: load 5.0 on 2 cores." in words
    assert "median of 3 pairs" in tile(trace)["note"]
    calm = measured(own, speedups=[1.0, 1.4], load_average=1.0, cores=2)
    assert "Busy" not in verdict(calm)


def test_an_impossible_speed_up_is_not_shown_big():
    own = measured(1.0).metrics()["tokens_per_second"]
    trace = measured(own / 5.94)
    assert speedup(trace).impossible and tile(trace)["value"] == "–"
    assert "impossible; timings were disturbed" in verdict(trace)
    assert "5.94×</dd>" not in page(trace)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"stop_reason": "context"}, "Stopped: context full."),
        ({"stop_reason": "eos"}, "Stopped: end of text."),
        ({"stop_reason": "length", "cancelled": True}, "Stopped: cancelled."),
    ],
)
def test_the_reason_of_the_end_is_named(meta, words):
    assert verdict(make_trace(**meta)).endswith(words)


def test_a_run_that_repeats_itself_is_called_so():
    shares = {r.name: load_bundled(r.name) for r in bundled()}
    for trace in shares.values():
        share = trace.metrics()["repetition_share"]
        assert ("Repetitive" in verdict(trace)) == (share >= 0.2)
    assert any("Repetitive" in verdict(t) for t in shares.values())


def test_pairs_are_noted_with_the_load_and_pairs_without_a_speed_are_not():
    first, again, plain = load_bundled("sampled"), load_bundled("sampled"), load_bundled("plain")
    note_plain(first, plain)
    note_pair(first, again, plain)
    noted = first.meta["plain"]
    assert len(noted["speedups"]) == 2 and noted["speedups"][0] == pytest.approx(noted["speedups"][1])
    assert noted["cores"] and noted["load_average"] >= 0
    again.meta["wall_ns"] = again.meta["prefill_ns"]
    note_pair(first, again, plain)
    assert len(noted["speedups"]) == 2


def test_an_exported_page_has_the_speed_up_and_the_verdict():
    trace = load_bundled("mixed")
    text = page(trace)
    assert f"{speedup(trace).value:.2f}×</dd>" in text and verdict(trace).split(".")[0] in text


def test_a_short_recording_is_replayed_slower_and_a_long_one_as_it_was():
    trace = load_bundled("mixed")
    pace = replay_pace(trace)
    assert pace in PACES and trace.metrics()["seconds"] / pace >= WATCHABLE
    faster = PACES[PACES.index(pace) - 1]
    assert trace.metrics()["seconds"] / faster < WATCHABLE, "not slower than needed"
    trace.meta["wall_ns"] = trace.meta["prefill_ns"] + 10**10
    assert replay_pace(trace) == 1
