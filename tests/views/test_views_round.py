"""The round inspector and the timeline as widgets: the trace with its calls, one group."""

from __future__ import annotations

import json

from make_trace import make_trace

from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.views import Drafter, RoundInspector, Timeline, TokenStream, link


def test_a_trace_brings_its_calls_and_the_starts_of_its_rounds():
    trace = make_trace()
    data = RoundInspector(trace).data
    assert json.loads(json.dumps(data)) == data
    assert data["calls"] == trace.columns["calls"]
    assert data["rounds"] == trace.columns["rounds"]
    assert data["meta"]["wall_ns"] == trace.meta["wall_ns"]


def test_linked_views_carry_the_trace_once():
    stream, inspector, timeline = TokenStream(make_trace()), RoundInspector(make_trace()), Timeline()
    link(stream, inspector, timeline)
    assert stream.group == inspector.group == timeline.group
    assert stream.data["tokens"] and not inspector.data and not timeline.data


def test_a_drafter_races_the_recordings_of_its_prompt():
    greedy = SIDE_BY_SIDE / "greedy"
    drafter = Drafter(load_bundled("both", greedy))
    recorded = {r.name: load_bundled(r.name, greedy) for r in bundled(greedy)}
    found = {other["name"]: other["counts"] for other in drafter.others}
    assert "target" not in found  # plain decoding is the ramp
    for trace in recorded.values():
        if trace.meta["stack"] != "target":
            counts = found[trace.meta["stack"]]
            assert len(counts) == trace.metrics()["target_forwards"] and sum(counts) == len(trace.token_rows)
    assert Drafter(make_trace()).others == []
    assert Drafter().others == []
