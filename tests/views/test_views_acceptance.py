"""The acceptance tab: every figure in it is a count of the trace's own rows."""

from __future__ import annotations

from collections import Counter

import pytest

from hsd_viz import load_bundled
from hsd_viz.engine.replay import bundled
from hsd_viz.figures.panels import MOST_ROWS, acceptance_panels, range_words, ranges, rates, verifiers
from hsd_viz.trace import Trace

RUNS = [r.name for r in bundled()]
DRAFTING = [name for name in RUNS if load_bundled(name).draft_rows]


def sums(panel, key: int = 0) -> tuple[int, int]:
    """Both sides of the first figure of all rows."""
    pairs = [tuple(map(int, row.cells[key].split(" / "))) for row in panel.rows]
    return sum(a for a, _ in pairs), sum(b for _, b in pairs)


@pytest.mark.parametrize("name", DRAFTING)
def test_rows_add_up_to_the_metrics_of_each_level(name):
    trace = load_bundled(name)
    levels = {row["level"]: row for row in trace.metrics()["levels"]}
    for _, level in verifiers(trace):
        place, histogram, source, match = acceptance_panels(trace, level)
        m = levels[level]
        assert sums(place) == (m["accepted"], m["examined"]), "conditional acceptance: accepted / examined"
        assert sums(source) == (m["accepted"], m["drafted"]), "acceptance rate: accepted / drafted"
        matched = [d for d in trace.draft_rows if d.level == level and d.key_length is not None]
        assert sums(match) == (sum(d.verdict == "accepted" for d in matched), len(matched))
        assert bool(match.empty) == (not matched)
        assert sum(int(row.cells[0]) for row in histogram.rows) == m["rounds"]
        bars = sum(length for row in place.rows for _, length, _ in row.parts)
        assert bars == m["drafted"] == sum(length for row in source.rows for _, length, _ in row.parts)
        for panel in (place, source, match, histogram):
            assert panel.measure and panel.definition
            assert {key for row in panel.rows for key, _, _ in row.parts} <= set(panel.keys)


def test_bars_tell_accepted_by_source_from_rejected_and_unseen():
    trace = load_bundled("both")
    top = max(r.level for r in trace.round_rows)
    place = acceptance_panels(trace)[0]
    # Where drafts are deep, neighbouring places share a row.
    deepest = int(place.rows[0].label.split("–")[-1])
    first = Counter(
        d.source if d.verdict == "accepted" else d.verdict
        for d in trace.draft_rows
        if d.level == top and d.depth <= deepest
    )
    assert {key: length for key, length, _ in place.rows[0].parts} == dict(first)
    # Verdicts are told by shape, not by colour alone.
    assert {place.keys[key]["shape"] for key in ("context", "rejected", "unreached")} == {"solid", "hatched", "faint"}


def test_the_target_comes_first_and_levels_have_names():
    assert verifiers(load_bundled("both")) == [("target", 3), ("small", 2), ("nano", 1)]
    assert verifiers(load_bundled("plain")) == [("target", 0)]


def test_plain_decoding_is_words_not_empty_charts():
    for trace in (load_bundled("plain"), Trace({})):
        (panel,) = acceptance_panels(trace)
        assert "No drafts" in panel.empty and not panel.rows
        assert rates(trace) == ""


def test_models_have_no_match_length():
    place, _, source, match = acceptance_panels(load_bundled("one-draft"))
    assert place.rows and source.rows and not match.rows
    assert match.empty.startswith("All drafts came from draft models")


def test_rates_are_the_metrics():
    m = load_bundled("both").metrics()
    text = rates(load_bundled("both"))
    assert f"Acceptance rate {m['acceptance_rate']:.0%} (accepted / drafted)" in text
    assert f"conditional acceptance {m['conditional_acceptance']:.0%}" in text
    assert f"length {m['mean_acceptance_length']:.2f}" in text


def test_many_values_share_rows():
    assert [range_words(r) for r in ranges([2, 4])] == ["2", "3", "4"]
    many = ranges(range(1, 65))
    assert (
        len(many) <= MOST_ROWS and [n for r in many for n in r] == list(range(1, 65)) and range_words(many[0]) == "1–4"
    )
    assert ranges([]) == []
