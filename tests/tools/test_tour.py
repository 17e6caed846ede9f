"""The stops of the page's tour: stored by number, found in the recordings."""

import json

from hsd_viz.engine.replay import load_bundled
from tools import tour


def test_the_stored_numbers_are_those_of_the_recordings():
    stored = json.loads(tour.PATH.read_text(encoding="utf-8"))
    assert stored == tour.stops(), "after new recordings: python -m tools.tour, then npm run build in js/"
    shown = {s["key"]: tour.events(load_bundled(s["recording"]))[s["step"]] for s in stored}
    assert shown["chance"].draft.verdict == "rejected" and shown["chance"].draft.q >= 0.5, "a likely draft token"
    assert shown["chance"].draft.u * shown["chance"].draft.q >= shown["chance"].draft.p
    assert shown["databases"].draft.source == "context" and shown["hierarchy"].draft.source == "small"
    assert shown["lossless"].kind in ("verdict", "token") and shown["measures"].kind == "draft"
