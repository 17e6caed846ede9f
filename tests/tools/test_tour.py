"""The stops of the page's tour, as stored and as found in the recordings."""

import json

from hsd_viz.engine.replay import load_bundled
from tools import tour


def test_the_stored_stops_are_those_of_the_recordings():
    stored = json.loads(tour.PATH.read_text(encoding="utf-8"))
    assert stored == tour.stops(), "after new recordings: python -m tools.tour, then npm run build in js/"
    step = next(stop["step"] for stop in stored if stop["key"] == "chance")
    row = tour.events(load_bundled("sampled"))[step].draft
    assert row.verdict == "rejected" and row.q >= 0.5 and row.u * row.q >= row.p, "a likely draft token"
