"""The events of a run in Python; `tests/js` compares them with those of the page."""

from __future__ import annotations

from hsd_viz.trace import Trace
from hsd_viz.views.events import events_of


def test_a_run_without_tokens_has_no_events():
    assert events_of(Trace({})) == []
