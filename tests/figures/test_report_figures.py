"""Figures of measurements show what the ablation and the report say."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

import hsd_viz as hsd
from benchmarks.ablation import ablation_stacks, build, row_of
from hsd_viz import figures
from hsd_viz.figures.ablations import SUBSETS, ablation_of
from hsd_viz.figures.charts import plain
from hsd_viz.figures.reports import method
from hsd_viz.measure.bench.output import from_trace
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.stack import DATABASES, parse
from tests.rows import column, find, keyed, select

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"
ABLATION = BENCH / "ablation.json"
REPORT = BENCH / "heldout-greedy-cpu.json"


def test_speed_ups_are_those_of_the_report():
    stacks = keyed(json.loads(REPORT.read_text())["stacks"], "stack")
    drawn = figures.speedup(REPORT)
    names = [name for name, *_ in drawn.layout.meta["table"][1:]]
    for name, tick in zip(names, drawn.layout.yaxis.ticktext, strict=True):
        assert tick == f"<b>{plain(stack_name(name))}</b> {plain(name)}"
    dots = find(drawn.data, type="scatter", mode="markers")
    for name, value, up in zip(names, dots.x, dots.error_x.array, strict=True):
        assert value == stacks[name]["speedup_over_plain"]
        assert value + up == pytest.approx(stacks[name]["speedup_over_plain_ci"][1])
    for given, words in [
        ({}, "not a report"),
        (BENCH / "none.json", "cannot read"),
        (ABLATION, "not a report"),
    ]:
        with pytest.raises(ValueError, match=words):
            figures.speedup(given)


def test_impossible_speed_ups_are_left_out():
    data = json.loads(REPORT.read_text())
    first = find(data["stacks"], stack="db > target")
    first["speedup_over_plain"] = 2 * first["mean_acceptance_length"]
    drawn = figures.speedup(data)
    names = [name for name, *_ in drawn.layout.meta["table"][1:]]
    assert "db > target" not in names
    assert "Not plausible: db > target" in drawn.layout.meta["note"]


def test_bars_of_the_ablation_are_its_tokens_by_source():
    rows = keyed(select(json.loads(ABLATION.read_text())["rows"], temperature=0), "stack")
    drawn = figures.database_ablation(ABLATION)
    place = drawn.layout.yaxis.ticktext.index("context, model, statistics")
    row = rows["db[context,model,statistics] > target"]
    bars = {}
    for b in drawn.data:
        if b.type == "bar":
            bars[b.name] = dict(zip(b.y, b.x, strict=True))
    names = {
        "context": "copying",
        "model": "model database",
        "statistics": "statistics database",
    }
    for source, name in names.items():
        expected = row["accepted_by_source"][source] / row["target_forwards"]
        assert bars[name][place] == pytest.approx(expected, abs=1e-3)
    named = [row[0].partition(": ")[2] for row in drawn.layout.meta["table"][1:]]
    assert len(named) == 2 * len(SUBSETS)
    assert named[0].endswith("context, model, statistics")
    # All stacks of a temperature wrote the same text, so all wrote equally much.
    rows = json.loads(ABLATION.read_text())["rows"]
    for temperature in (0.0, 0.7, 1.0):
        tokens = set(column(select(rows, temperature=temperature), "tokens"))
        assert len(tokens) == 1
    for r in rows:
        assert r["tokens"] == r["target_forwards"] + sum(r["accepted_by_source"].values())


def test_curves_are_the_lengths_of_the_ablation():
    drawn = figures.temperature_curves(ABLATION, stacks=["db", "lookup"])
    rows = {(r["stack"], r["temperature"]): r for r in json.loads(ABLATION.read_text())["rows"]}
    curves = {d.name: dict(zip(d.x, d.y, strict=True)) for d in drawn.data}
    for temperature in (0.0, 0.7, 1.0):
        for name, stack in (
            ("db", "db[context,model,statistics] > target"),
            ("lookup", "lookup > target"),
        ):
            assert curves[name][temperature] == rows[stack, temperature]["mean_acceptance_length"]
    whole = set(column(figures.temperature_curves(ABLATION, metric="speedup").data, "name"))
    assert {"db", "hd", "lookup"} <= whole
    assert not any("[" in name or name == "target" for name in whole)


def test_categories_are_those_of_the_report():
    drawn = figures.by_category(REPORT, stacks=["db", "small:4"])
    report = json.loads(REPORT.read_text())
    headings = []
    for t in drawn.layout.yaxis.ticktext:
        if t.startswith("<b>"):
            headings.append(t[3:-4])
    blocks = find(report["stacks"], stack="db > target")["by_category"]
    named = [f"{name} (n = {blocks[name]['outputs']})" for name in report["suite"]["categories"]]
    assert headings == named
    first = blocks["rewrite"]
    assert drawn.layout.meta["table"][1][:2] == [
        f"rewrite (n = {first['outputs']}): db",
        f"{first['mean_acceptance_length']:.2f}",
    ]


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
        (lambda: figures.database_ablation(REPORT), "not an ablation"),
        (lambda: figures.database_ablation(ABLATION, temperature=0.3), "use 0, 0.7, 1"),
        (lambda: figures.temperature_curves(ABLATION, metric="joy"), "'length' or 'speedup'"),
        (lambda: figures.temperature_curves(ABLATION, stacks=["dbs"]), "'dbs' was not measured"),
        (lambda: figures.by_category(REPORT, stacks=["dbs"]), "'dbs' was not measured"),
        (lambda: figures.by_category(ABLATION), "not a report"),
        (lambda: ablation_of({"rows": 1}), "not an ablation"),
        (lambda: ablation_of(BENCH / "nowhere.json"), "cannot read the JSON file"),
    ],
)
def test_bad_data_gives_one_line(wrong, said):
    with pytest.raises(ValueError, match=said) as error:
        wrong()
    assert "\n" not in str(error.value)


def test_an_ablation_has_all_subsets_in_all_orders_once():
    stacks = ablation_stacks()
    assert len(set(stacks)) == len(stacks)
    for stack in stacks:
        assert str(parse(stack)) == stack
    for name in ("db", "hd"):
        orders = []
        for s in stacks:
            if s.startswith(f"{name}["):
                orders.append(parse(s).bottom.items)
        assert len(orders) == len(set(orders)) == 3 + 6 + 6
        for order in orders:
            assert set(order) <= set(DATABASES)


def test_a_row_of_the_ablation_is_the_sum_of_its_traces():
    traces = [hsd.load_bundled("databases"), hsd.load_bundled("copied")]
    row = row_of("db > target", 0.7, [("one", traces[0]), ("other", traces[1])])
    suite = Suite(
        "made",
        {"one": "One.", "other": "Other.", "unused": "No prompt."},
        (Prompt("1", "one", "a"), Prompt("2", "other", "b")),
    )
    machine = {"cpu": "A processor", "gpu": None, "load_average": 1.25, "load_average_at_end": 2.5}
    plain = row | {"stack": "target"}
    data = build([row, plain], machine, suite, {"device": "cpu", "threads": 1, "max_new_tokens": 8})
    assert list(data["suite"]["categories"]) == ["one", "other"]
    frame, source = ablation_of(data)
    row = frame.to_dict("records")[0]
    metrics = [trace.metrics() for trace in traces]
    tokens = sum(column(metrics, "tokens"))
    forwards = sum(column(metrics, "target_forwards"))
    assert row["length"] == pytest.approx(tokens / forwards)
    several = 0
    for trace in traces:
        of_round = trace.tokens.groupby("round").size()
        several += of_round[of_round > 1].sum()
    assert row["ratio"] == pytest.approx(several / tokens)
    for source_, n in row["accepted"].items():
        assert n == pytest.approx(
            sum(m["accepted_by_source"].get(source_, 0) for m in metrics) / forwards
        )
    assert row["draft"] == median(chain(*(from_trace(trace).draft_seconds for trace in traces)))
    assert "A processor, 1 thread, load average 1.2 to 2.5" in source
