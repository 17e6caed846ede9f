"""Views of one group: scripts that are whole by themselves, one trace for all."""

from __future__ import annotations

import json

import pytest
from make_trace import make_trace

from hsd_viz.views import TokenStream
from hsd_viz.views.linked import LinkedView, link


class Tally(LinkedView):
    _esm = "export default {};"


def test_a_view_carries_its_trace_and_the_palette_as_json():
    view = Tally(make_trace())
    state = {name: getattr(view, name) for name in ("data", "palette", "group")}
    assert json.loads(json.dumps(state)) == state
    assert len(view.data["calls"]["round"]) == 3 and view.data["meta"]["wall_ns"] == 21_000_000
    assert view.data["meta"]["sampling"]["temperature"] == 0.8
    before = view.data["run"]
    view.show(make_trace())
    assert view.data["run"] != before, "shown again it is another run, and its cursor begins anew"


def test_a_view_by_itself_has_a_group_of_its_own():
    assert Tally().group and Tally().group != Tally().group
    assert Tally(group="mine").group == "mine"
    assert Tally().data == {}


def test_linked_views_share_a_group_and_the_trace_travels_once():
    stream, second, third = TokenStream(), TokenStream(make_trace()), Tally(make_trace())
    assert link(stream, second, third) == stream.group == second.group == third.group
    assert len(second.data["tokens"]["index"]) == 3 and third.data == {}
    assert link(second, third, group="both") == second.group == third.group == "both"
    assert stream.group != "both"
    with pytest.raises(ValueError, match="at least one view"):
        link()
