"""The round inspector and the timeline as widgets: the trace with its calls, one group."""

from __future__ import annotations

import json

from make_trace import make_trace

from hsd_viz.views import RoundInspector, Timeline, TokenStream, link


def test_a_trace_brings_its_calls_and_the_starts_of_its_rounds():
    trace = make_trace()
    data = RoundInspector(trace).data
    assert json.loads(json.dumps(data)) == data
    assert [row[-2:] for row in data["calls"]] == [[c.start_ns, c.duration_ns] for c in trace.call_rows]
    assert [row[-2] for row in data["rounds"]] == [r.start_ns for r in trace.round_rows]
    assert data["meta"]["wall_ns"] == trace.meta["wall_ns"]


def test_linked_views_carry_the_trace_once():
    stream, inspector, timeline = TokenStream(make_trace()), RoundInspector(make_trace()), Timeline()
    link(stream, inspector, timeline)
    assert stream.group == inspector.group == timeline.group
    assert stream.data["tokens"] and not inspector.data and not timeline.data
