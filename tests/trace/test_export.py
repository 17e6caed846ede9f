"""The Chrome trace: the trace's own times, lanes that never overlap, rounds that nest, counters that end at the totals."""

from __future__ import annotations

import json

import pytest
from samples import sample_trace

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.export import chrome_trace


def events(trace: Trace, **wanted) -> list[dict]:
    """The events whose entries are as ``wanted``, out of what a reader of the file gets."""
    read = json.loads(json.dumps(chrome_trace(trace)))
    return [e for e in read["traceEvents"] if all(e.get(k) == v for k, v in wanted.items())]


@pytest.mark.parametrize("name", [r.name for r in bundled()])
def test_times_are_those_of_the_trace_and_slices_of_a_thread_nest_or_follow_one_another(name):
    trace, spans = load_bundled(name), events(load_bundled(name), ph="X")
    ns = lambda category: [
        (round(1000 * e["ts"]), round(1000 * e["dur"])) for e in spans if e["cat"] == category
    ]
    assert ns("call") == [(c.start_ns, c.duration_ns) for c in trace.call_rows]
    assert sorted(ns("round")) == sorted((r.start_ns, r.duration_ns) for r in trace.round_rows)
    for tid in {e["tid"] for e in spans}:
        open_until: list[float] = []
        for e in sorted((e for e in spans if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            # Microseconds are fractions: a slice that starts where another ends may differ in the last digit.
            while open_until and open_until[-1] <= e["ts"] + 1e-6:
                open_until.pop()
            assert not open_until or e["ts"] + e["dur"] <= open_until[-1]
            open_until.append(e["ts"] + e["dur"])
            assert len(open_until) == 1 or e["cat"] == "round"


def test_lanes_are_threads_with_names_the_target_first():
    trace = load_bundled("both")
    named = {e["tid"]: e["args"]["name"] for e in events(trace, name="thread_name")}
    assert [named[tid] for tid in sorted(named)] == ["rounds", "target", "small", "nano", "db"]
    assert {named[e["tid"]] for e in events(trace, name="nano verify")} == {"nano"}


def test_counters_end_at_the_totals_and_rounds_say_what_they_emitted():
    trace = sample_trace()
    counts = events(trace, ph="C", name="tokens emitted")
    assert [(e["ts"], e["args"]["tokens"]) for e in counts] == [(1.8, 2), (2.8, 4)]
    assert [e["args"] for e in events(trace, ph="C", name="draft tokens")] == [
        {"accepted": 1, "not accepted": 2},
        {"accepted": 1, "not accepted": 0},
    ]
    assert [e["args"]["emitted"] for e in events(trace, cat="round")] == [
        "def\\xe2\\x9c",
        "\\x93 <b>",
    ]
    assert events(Trace({}), ph="X") == []
