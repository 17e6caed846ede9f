"""Figures of measurements show what the ablation, the report and the traces say."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

import hsd_viz as hsd
from benchmarks.ablation import ablation_stacks, build, row_of
from hsd_viz import figures
from hsd_viz.bench.output import from_trace
from hsd_viz.figures.reports import SUBSETS, method, methods, study_of
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import DATABASES, parse

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"
ABLATION, REPORT = BENCH / "ablation.json", BENCH / "heldout-greedy-cpu.json"


def test_speed_ups_are_those_of_the_report():
    stacks = {s["stack"]: s for s in json.loads(REPORT.read_text())["stacks"]}
    drawn = figures.speedup(REPORT)
    names = drawn.layout.yaxis.ticktext
    dots = next(d for d in drawn.data if d.type == "scatter" and d.mode == "markers")
    for name, value, up in zip(names, dots.x, dots.error_x.array, strict=True):
        assert value == stacks[name]["speedup_over_plain"]
        assert value + up == pytest.approx(stacks[name]["speedup_over_plain_ci"][1])
    thin = next(d for d in drawn.data if d.type == "bar" and d.width == 0.12)
    assert thin.x[0] == stacks[names[0]]["low_repetition"]["speedup_over_plain"]
    for given, words in [({}, "not a report"), (BENCH / "none.json", "cannot be read"), (ABLATION, "not a report")]:
        with pytest.raises(ValueError, match=words):
            figures.speedup(given)


def test_impossible_speed_ups_are_left_out():
    data = json.loads(REPORT.read_text())
    first = next(s for s in data["stacks"] if s["stack"] == "db > target")
    first["speedup_over_plain"] = 2 * first["mean_acceptance_length"]
    drawn = figures.speedup(data)
    assert (
        "db > target" not in drawn.layout.yaxis.ticktext and "Not plausible: db > target" in drawn.layout.meta["note"]
    )


def test_bars_of_the_ablation_are_its_tokens_by_source():
    rows = {r["stack"]: r for r in json.loads(ABLATION.read_text())["rows"] if r["temperature"] == 0}
    drawn = figures.database_ablation(ABLATION)
    place = drawn.layout.yaxis.ticktext.index("context, model, statistics")
    row = rows["db[context,model,statistics] > target"]
    bars = {b.name: dict(zip(b.y, b.x, strict=True)) for b in drawn.data if b.type == "bar"}
    for source in ("context", "model", "statistics"):
        expected = row["accepted_by_source"][source] / row["target_forwards"]
        assert bars[f"{source} database"][place] == pytest.approx(expected, abs=1e-3)
    named = [row[0].partition(": ")[2] for row in drawn.layout.meta["table"][1:]]
    assert len(named) == 2 * len(SUBSETS) and named[0].endswith("context, model, statistics")
    # All stacks of a temperature wrote the same text, so all wrote equally much.
    rows = json.loads(ABLATION.read_text())["rows"]
    assert all(len({r["tokens"] for r in rows if r["temperature"] == t}) == 1 for t in (0.0, 0.7, 1.0))
    assert all(r["tokens"] == r["target_forwards"] + sum(r["accepted_by_source"].values()) for r in rows)


def test_a_bar_is_as_long_as_a_round_and_its_parts_are_the_sources():
    trace = hsd.load_bundled("databases")
    m = trace.metrics()
    drawn = figures.database_ablation(trace)
    parts = {b.name: b.x[0] for b in drawn.data if b.type == "bar"}
    assert sum(parts.values()) == pytest.approx(m["mean_acceptance_length"])
    assert parts["context database"] == pytest.approx(m["accepted_by_source"]["context"] / m["target_forwards"])
    rounds = trace.tokens.groupby("round").size()
    assert drawn.layout.meta["table"][1][2] == f"{rounds[rounds > 1].sum() / len(trace):.0%}"


def test_several_reports_make_curves_over_the_temperature():
    drawn = figures.temperature_curves([REPORT, BENCH / "heldout-t1-cpu.json"], stacks=["db", "nano:4"])
    curves = {d.name: dict(zip(d.x, d.y, strict=True)) for d in drawn.data}
    for name, temperature in (("heldout-greedy-cpu", 0.0), ("heldout-t1-cpu", 1.0)):
        rows = {s["stack"]: s for s in json.loads((BENCH / f"{name}.json").read_text())["stacks"]}
        for stack in ("db", "nano:4"):
            assert curves[stack][temperature] == rows[f"{stack} > target"]["mean_acceptance_length"]


def test_categories_are_those_of_the_report():
    drawn = figures.by_category(REPORT, stacks=["db", "small:4"])
    report = json.loads(REPORT.read_text())
    headings = [t[3:-4] for t in drawn.layout.yaxis.ticktext if t.startswith("<b>")]
    assert headings == list(report["suite"]["categories"])
    first = next(s for s in report["stacks"] if s["stack"] == "db > target")["by_category"]["rewrite"]
    assert drawn.layout.meta["table"][1][:2] == ["rewrite: db", f"{first['mean_acceptance_length']:.2f}"]


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ("db[context,model,statistics] > target", "db"),
        ("db[statistics,context] > target", "db[statistics,context]"),
        ("db > nano:4 > target", "db > nano:4"),
        ("hf-lookup", "hf-lookup"),
    ],
)
def test_methods_are_named_as_they_are_written(stack, name):
    assert method(stack) == name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: figures.database_ablation(REPORT), "no tokens by database"),
        (lambda: figures.database_ablation(ABLATION, temperature=0.3), "use 0, 0.7, 1"),
        (lambda: figures.temperature_curves(REPORT), "only one temperature"),
        (lambda: figures.temperature_curves(ABLATION, metric="joy"), "'length' or 'speedup'"),
        (lambda: figures.by_category(REPORT, stacks=["dbs"]), "'dbs' was not measured"),
        (lambda: study_of({"rows": 1}), "not an ablation or a bench report"),
        (lambda: study_of([]), "expected an ablation"),
        (lambda: study_of(BENCH / "nowhere.json"), "cannot be read"),
    ],
)
def test_bad_data_gives_one_line(wrong, said):
    with pytest.raises(ValueError, match=said) as error:
        wrong()
    assert "\n" not in str(error.value)


def test_subsets_are_no_methods():
    found = methods(study_of(ABLATION))["method"]
    assert {"db", "hd", "lookup"} <= set(found) and not any("[" in name for name in found)


def test_an_ablation_has_all_subsets_in_all_orders_once():
    stacks = ablation_stacks()
    assert len(set(stacks)) == len(stacks)
    assert all(str(parse(s)) == s for s in stacks)
    for name in ("db", "hd"):
        orders = [parse(s).bottom.items for s in stacks if s.startswith(f"{name}[")]
        assert len(orders) == len(set(orders)) == 3 + 6 + 6
        assert all(set(o) <= set(DATABASES) for o in orders)


def test_a_file_of_sums_reads_as_the_traces_do():
    traces = [hsd.load_bundled("databases"), hsd.load_bundled("copied")]
    row = row_of("db > target", 0.7, [("one", traces[0]), ("other", traces[1])])
    suite = Suite(
        "made",
        {"one": "One.", "other": "Other.", "unused": "No prompt."},
        (Prompt("1", "one", "a"), Prompt("2", "other", "b")),
    )
    machine = {"cpu": "A processor", "gpu": None, "load_average": 1.25, "load_average_at_end": 2.5}
    data = build([row], machine, suite, {"device": "cpu", "threads": 1, "max_new_tokens": 8})
    assert list(data["suite"]["categories"]) == ["one", "other"]
    file, direct = study_of(data), study_of(traces)
    whole, counted = (s.rows.query("category == ''").iloc[0] for s in (file, direct))
    for name in ("length", "ratio"):
        assert whole[name] == pytest.approx(counted[name])
    by_source = [s.sources.set_index("source")["tokens"].to_dict() for s in (file, direct)]
    assert by_source[0] == pytest.approx(by_source[1])
    one = file.rows.query("category == 'one'").iloc[0]
    assert one["length"] == pytest.approx(traces[0].metrics()["mean_acceptance_length"])
    assert whole["draft"] == median(second for trace in traces for second in from_trace(trace).draft_seconds)
    assert (
        "A processor, 1 thread; drafting latency is the median over rounds, with a load average of 1.2 to 2.5"
        in file.source
    )
