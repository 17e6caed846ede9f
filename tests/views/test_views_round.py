"""The round inspector and the timeline as widgets: whole scripts, the trace with its calls, one group."""

from __future__ import annotations

import json
import re

import pytest
from make_trace import make_trace

from hsd_viz.views import RoundInspector, Timeline, TokenStream, link
from hsd_viz.views.linked import SHARED
from hsd_viz.views.run_views import INSPECTOR_FILES, TIMELINE_FILES
from hsd_viz.views.scripts import STATIC


@pytest.mark.parametrize(
    ("widget", "own"),
    [(RoundInspector, INSPECTOR_FILES), (Timeline, TIMELINE_FILES)],
)
def test_scripts_are_whole_and_name_nothing_twice(widget, own):
    assert len(re.findall(r"^export default linkedWidget\(", str(widget._esm), re.MULTILINE)) == 1
    names = []
    for part in (*SHARED, *own):
        lines = (STATIC / part).read_text(encoding="utf-8").splitlines()
        names += [line.split()[1].split("(")[0] for line in lines if line.startswith(("const ", "function "))]
    assert sorted(names) == sorted(set(names))


def test_a_trace_brings_its_calls_and_the_starts_of_its_rounds():
    trace = make_trace()
    data = RoundInspector(trace).data
    assert json.loads(json.dumps(data)) == data
    assert [row[-2:] for row in data["calls"]] == [[c.start_ns, c.duration_ns] for c in trace.call_rows]
    assert [row[-1] for row in data["rounds"]] == [r.start_ns for r in trace.round_rows]
    assert data["meta"]["wall_ns"] == trace.meta["wall_ns"]


def test_linked_views_carry_the_trace_once():
    stream, inspector, timeline = TokenStream(make_trace()), RoundInspector(make_trace()), Timeline()
    link(stream, inspector, timeline)
    assert stream.group == inspector.group == timeline.group
    assert stream.data["tokens"] and not inspector.data and not timeline.data
