"""The rules that select recordings follow what was measured, not names; the tour follows the
recordings.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from hsd_viz.engine.recordings import load_bundled
from tests.rows import find
from tools.record import tour
from tools.record.selection import FASTER, MIXED, PARSED, REPEATED, Facts, facts, opening

GOOD = Facts(0.7, 1.5, {"context": 0.3, "nano": 0.2}, 0.05, 0.9)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (partial(replace, GOOD), ()),
        (partial(replace, GOOD, temperature=0.0), ("sampled",)),
        (partial(replace, GOOD, parsed=PARSED - 0.01), ("readable",)),
        (partial(replace, GOOD, repeated=REPEATED + 0.01), ("readable",)),
        (partial(replace, GOOD, speedup=FASTER - 0.01), ("clearly faster than plain decoding",)),
        (partial(replace, GOOD, speedup=None), ("clearly faster than plain decoding",)),
        (partial(replace, GOOD, shares={"context": 0.6, "nano": MIXED - 0.01}), ("mixed sources",)),
        (
            partial(replace, GOOD, shares={}, speedup=0.9),
            ("clearly faster than plain decoding", "mixed sources"),
        ),
    ],
)
def test_what_a_run_lacks(change, missing):
    assert change().missing == missing


def test_the_fastest_complete_run_opens_the_dashboard():
    runs = {
        "fast loop": replace(GOOD, temperature=0.0, speedup=5.0, repeated=0.8),
        "one source": replace(GOOD, speedup=2.5, shares={"context": 0.6}),
        "slow": replace(GOOD, speedup=1.25),
        "fast": replace(GOOD, speedup=1.6),
    }
    assert opening(runs.items()) == "fast"
    assert opening([(name, runs[name]) for name in reversed(runs)]) == "fast"
    del runs["fast"]
    assert opening(runs.items()) == "slow"


def test_without_a_complete_run_the_one_that_lacks_least_is_taken():
    runs = [
        ("two", replace(GOOD, temperature=0.0, parsed=0.0)),
        ("one", replace(GOOD, speedup=1.1)),
    ]
    assert opening(runs) == "one"
    with pytest.raises(ValueError, match="no runs"):
        opening([])


def test_the_facts_are_those_of_the_trace():
    trace = load_bundled("copied")
    shown = facts(trace)
    figures = trace.metrics()
    assert shown.speedup == pytest.approx(
        figures["tokens_per_second"] / trace.meta["plain"]["tokens_per_second"]
    )
    assert shown.own == pytest.approx(figures["emitted_by_source"]["target"] / figures["tokens"])
    assert shown.repeated == figures["repetition_share"]
    assert 0 <= shown.parsed <= 1
    assert facts(load_bundled("plain")).shares == {}
    assert facts(load_bundled("plain")).speedup is None


def test_the_stops_of_the_tour_are_those_of_the_recordings():
    stored = json.loads(tour.PATH.read_text(encoding="utf-8"))
    assert stored == tour.stops(), (
        "after new recordings: python -m tools.record.tour, then npm run build in js/"
    )
    step = find(stored, key="chance")["step"]
    row = tour.events(load_bundled("sampled"))[step].draft
    assert row.verdict == "rejected", "a likely draft token"
    assert row.q >= 0.5, "a likely draft token"
    assert row.u * row.q >= row.p, "a likely draft token"
