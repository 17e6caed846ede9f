"""Figures of one run: every number is a count of the trace's own rows."""

from __future__ import annotations

from collections import Counter

import pytest

from hsd_viz import figures, load_bundled
from hsd_viz.bench import replay as module
from hsd_viz.bench.replay import Alone, alone, available_databases
from hsd_viz.calibration.basis import level_use
from hsd_viz.engine.replay import bundled
from hsd_viz.figures.run import MOST_ROWS, alone_bars, range_text, ranges, rates, times, verdicts
from hsd_viz.trace import Trace
from tests.views.make_trace import make_trace

RUNS = [r.name for r in bundled()]
DRAFTING = [name for name in RUNS if load_bundled(name).draft_rows]


def total(drawn, names=None) -> float:
    return sum(sum(b.x) for b in drawn.data if b.type == "bar" and (names is None or b.name in names))


@pytest.mark.parametrize("name", DRAFTING)
def test_rows_add_up_to_the_metrics_of_each_level(name):
    trace = load_bundled(name)
    for m in trace.metrics()["levels"]:
        level = m["level"]
        here = trace.drafts[trace.drafts["level"] == level]
        if here.empty:
            continue
        counts, table = verdicts(here, "depth")
        assert (table["accepted"].sum(), table["of"].sum()) == (m["accepted"], m["examined"]), "accepted / examined"
        assert counts["value"].sum() == m["drafted"] == total(figures.drafts(trace, level=level))
        counts, table = verdicts(here, "source")
        assert (table["accepted"].sum(), table["of"].sum()) == (m["accepted"], m["drafted"]), "accepted / drafted"
        matched = here.dropna(subset=["key_length"])
        drawn = figures.drafts(trace, by="key_length", level=level)
        assert total(drawn) == len(matched) and bool(drawn.data) == bool(len(matched))
        (bar,) = [b for b in figures.accepted_per_round(trace, level=level).data if b.type == "bar"]
        assert sum(bar.x) == m["rounds"]
        if len(m["accepted_histogram"]) <= MOST_ROWS:
            found = dict(zip(bar.y, bar.x, strict=True))
            assert [found.get(k, 0) for k in range(len(m["accepted_histogram"]))] == m["accepted_histogram"]


def test_bars_show_accepted_by_source_apart_from_rejected_and_unseen():
    trace = load_bundled("both")
    top = max(r.level for r in trace.round_rows)
    counts, table = verdicts(trace.drafts[trace.drafts["level"] == top], "depth")
    deepest = int(table["row"][0].split("–")[-1])
    first = Counter(
        d.source if d.verdict == "accepted" else d.verdict
        for d in trace.draft_rows
        if d.level == top and d.depth <= deepest
    )
    here = counts[counts["row"] == 0]
    assert dict(zip(here["part"], here["value"], strict=True)) == dict(first)


def test_a_run_without_drafts_is_words_not_an_empty_chart():
    for trace in (load_bundled("plain"), Trace({})):
        for drawn in (figures.drafts(trace), figures.accepted_per_round(trace)):
            assert not drawn.data and "No drafts" in drawn.layout.meta["note"]
        assert rates(trace) == ""
    for name in ("acceptance", "by_source", "time_spent"):
        assert getattr(figures, name)(Trace({})).layout.title.text
    drawn = figures.drafts(load_bundled("one-draft"), by="key_length")
    assert drawn.layout.meta["note"].startswith("All drafts came from draft models")
    with pytest.raises(ValueError, match="level 9 did not verify"):
        figures.drafts(load_bundled("plain"), level=9)
    with pytest.raises(ValueError, match="use depth, source, key_length"):
        figures.drafts(load_bundled("plain"), by="colour")


def test_rates_are_the_metrics():
    m = load_bundled("both").metrics()
    text = rates(load_bundled("both"))
    assert f"Acceptance rate {m['acceptance_rate']:.0%} (accepted / drafted)" in text
    assert f"conditional acceptance {m['conditional_acceptance']:.0%}" in text
    assert f"length {m['mean_acceptance_length']:.2f}" in text


def test_many_values_share_rows():
    assert [range_text(r) for r in ranges([2, 4])] == ["2", "3", "4"]
    many = ranges(range(1, 65))
    assert len(many) <= MOST_ROWS and [n for r in many for n in r] == list(range(1, 65))
    assert range_text(many[0]) == "1–4" and ranges([]) == []


def test_tokens_by_source_and_rounds_are_counts():
    drawn = figures.by_source(make_trace())
    found = {b.name: sum(b.x) for b in drawn.data if b.type == "bar"}
    assert found == {"target model": 2, "context database": 1}
    drafted, accepted, mean, plain = figures.acceptance(make_trace()).data
    assert (list(drafted.y), list(accepted.y)) == ([2, 0], [1, 0]), "target rounds only"
    assert list(mean.y) == [2.0, 1.5] and set(plain.y) == {1.0}
    trace = load_bundled("both")
    m = trace.metrics()
    assert total(figures.by_source(trace)) == m["tokens"]
    drafted, accepted, mean, _ = figures.acceptance(trace).data
    assert (sum(drafted.y), sum(accepted.y)) == (m["drafted"], m["accepted"])
    assert mean.y[-1] == pytest.approx(m["tokens"] / m["rounds"])


@pytest.mark.parametrize("name", ["both", "databases", "one-draft"])
def test_one_run_has_one_account_of_its_time(name):
    trace = load_bundled(name)
    frame, uses = times(trace), level_use(trace)
    whole = 1e3 * trace.metrics()["seconds"] / len(trace)
    assert frame["ms"].sum() == pytest.approx(whole, rel=1e-3) == sum(u.ms for u in uses)
    assert total(figures.time_spent(trace)) == pytest.approx(whole, rel=1e-3)
    assert not any("prefill" in call for call in frame["call"]) and frame["call"].iloc[-1] == "between calls"
    for use in uses:
        # A level's time is that of its calls, which this chart shows, and what is around them.
        calls = frame["ms"][frame["call"].str.startswith(f"{use.name}: ")].sum()
        assert use.calls == pytest.approx(calls, abs=1e-6) and use.ms >= use.calls - 1e-9


def test_traces_can_be_files(tmp_path):
    trace = load_bundled("both")
    path = tmp_path / "run.json.gz"
    trace.save(path)
    for given in (path, str(path)):
        assert figures.by_source(given).to_json() == figures.by_source(trace).to_json()
    with pytest.raises(TypeError, match="not int"):
        figures.by_source(3)


def test_each_drafter_alone_beside_the_measured_run(monkeypatch):
    trace = load_bundled("databases")
    results = alone(trace, available_databases(trace), 32)
    drawn = alone_bars(trace, results, 32)
    measured = trace.metrics()["mean_acceptance_length"]
    _, first, *rows = drawn.layout.meta["table"]
    assert first[:3] == ["this run, measured", f"{measured:.2f}", f"{1 - 1 / measured:.0%}"]
    sums: Counter = Counter()
    for bar in drawn.data:
        if bar.type == "bar":
            sums.update(dict(zip(bar.y, bar.x, strict=True)))
    for place, (row, result) in enumerate(zip(rows, results, strict=True), start=1):
        assert sums[place] == pytest.approx(result.length) and row[1] == f"{result.length:.2f}"
    assert "32 draft tokens" in drawn.layout.meta["text"] and "replay" in drawn.layout.meta["text"]
    monkeypatch.setattr(module, "MOST_TOKENS", 40)
    short = figures.drafters_alone(load_bundled("plain"), budget=8)
    assert "40 of 128 tokens" in short.layout.meta["note"] and "8 draft tokens" in short.layout.meta["text"]
    with pytest.raises(ValueError, match="no emitted tokens"):
        figures.drafters_alone(Trace({"prompt_ids": []}))
    none = alone_bars(make_trace(), [Alone("db[context]", None, "why not")], 8)
    assert none.layout.meta["table"][-1] == ["db[context]", "–", "–", "why not"]
