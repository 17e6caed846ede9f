"""The figures of drafting from databases say what the trace, the ablation and the report say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_trace import make_trace

import hsd_viz as hsd
from hsd_viz import views
from hsd_viz.figures.drafting_bars import SUBSETS, by_category, database_ablation
from hsd_viz.figures.drafting_data import method, study_of
from hsd_viz.figures.temperature import methods, temperature_curves
from hsd_viz.trace import Trace
from hsd_viz.views.locality_map import copied_from, longest_repeats

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"
ABLATION = BENCH / "ablation.json"
REPORT = BENCH / "heldout-greedy-cpu.json"


def slow_repeats(ids: list[int]) -> list[tuple[int, int]]:
    """The definition, word for word."""
    found = []
    for i in range(len(ids)):
        best = (-1, 0)
        for j in range(i):
            n = 0
            while n <= j and n < 32 and ids[j - n] == ids[i - n]:
                n += 1
            if n >= max(1, best[1]):
                best = (j, n)
        found.append(best)
    return found


@pytest.mark.parametrize("ids", [[], [5], [1, 2, 1, 2, 3, 1, 2, 3, 9], [4] * 50, [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0]])
def test_repeats_are_the_longest_and_latest(ids):
    assert longest_repeats(ids) == slow_repeats(ids)


def test_what_was_copied_is_the_token_that_stands_there():
    trace = hsd.load_bundled("databases")
    text = trace.meta["prompt_ids"] + trace.token_ids
    places = copied_from(trace)
    context = [t.index for t in trace.token_rows if t.kind == "accepted" and t.source == "context"]
    assert [k for k, place in enumerate(places) if place >= 0] == context
    assert all(text[places[k]] == trace.token_rows[k].token_id for k in context)
    assert all(places[k] < len(trace.meta["prompt_ids"]) + k for k in context)


def test_a_map_follows_the_text_through_a_stack():
    # In the made trace the context's token climbed a level: the target's round has its place.
    shown = views.LocalityMap(make_trace())
    assert shown.spec["copied"] == [-1, -1, 1, -1, -1]
    assert shown.spec["sources"][2:] == ["context", "target", "target"]
    assert shown.spec["prompt"] == 2
    with pytest.raises(ValueError, match="no emitted tokens"):
        views.LocalityMap(Trace({"prompt_ids": []}))
    with pytest.raises(ValueError, match="whole number from 1"):
        views.LocalityMap(make_trace(), least=0)


def test_a_bar_is_as_long_as_a_round_and_its_parts_are_the_sources():
    trace = hsd.load_bundled("databases")
    figures = trace.metrics()
    (group,) = database_ablation(trace).spec["groups"]
    (row,) = group["rows"]
    parts = {source: value for source, value, _ in row["parts"]}
    assert sum(parts.values()) == pytest.approx(figures["mean_acceptance_length"], abs=1e-3)
    assert parts["context"] == pytest.approx(
        figures["accepted_by_source"]["context"] / figures["target_forwards"], abs=1e-3
    )
    rounds = trace.tokens.groupby("round").size()
    assert row["cells"][1] == f"{100 * rounds[rounds > 1].sum() / len(trace):.0f} %"


def test_the_ablation_has_every_subset_of_both_drafters():
    shown = database_ablation(ABLATION).spec
    assert [{r["label"] for r in g["rows"]} for g in shown["groups"]] == [{", ".join(names) for names in SUBSETS}] * 2
    assert set(shown["hues"]) == {"target", "context", "model", "statistics"}
    rows = json.loads(ABLATION.read_text())["rows"]
    # All stacks of a temperature wrote the same text, so all wrote equally much.
    assert all(len({r["tokens"] for r in rows if r["temperature"] == t}) == 1 for t in (0.0, 0.7, 1.0))
    assert all(r["tokens"] == r["target_forwards"] + sum(r["accepted_by_source"].values()) for r in rows)


def test_several_reports_make_curves_over_the_temperature():
    spec = temperature_curves([REPORT, BENCH / "heldout-t1-cpu.json"], stacks=["db", "nano:4"]).spec
    values = {tuple(map(tuple, line["points"])) for line in spec["lines"]}
    rows = {
        p.stem: {s["stack"]: s["mean_acceptance_length"] for s in json.loads(p.read_text())["stacks"]}
        for p in BENCH.glob("heldout-*")
    }
    for stack in ("db > target", "nano:4 > target"):
        cold, warm = rows["heldout-greedy-cpu"][stack], rows["heldout-t1-cpu"][stack]
        assert ((0.0, round(cold, 4)), (1.0, round(warm, 4))) in values


def test_categories_are_those_of_the_report():
    shown = by_category(REPORT, stacks=["db", "small:4"]).spec
    report = json.loads(REPORT.read_text())
    assert [g["title"] for g in shown["groups"]] == list(report["suite"]["categories"])
    first = next(s for s in report["stacks"] if s["stack"] == "db > target")["by_category"]["rewrite"]
    assert shown["groups"][0]["rows"][0]["cells"][0] == f"{first['mean_acceptance_length']:.2f}"


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ("db[context,model,statistics] > target", "db"),
        ("db[statistics,context] > target", "db[statistics,context]"),
        ("db > nano:4 > target", "db > nano:4"),
        ("hf-lookup", "hf-lookup"),
    ],
)
def test_methods_are_called_as_they_are_written(stack, name):
    assert method(stack) == name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: database_ablation(REPORT).spec, "no tokens by database"),
        (lambda: database_ablation(ABLATION, temperature=0.3).spec, "use 0, 0.7, 1"),
        (lambda: temperature_curves(REPORT).spec, "only one temperature"),
        (lambda: temperature_curves(ABLATION, metric="joy").spec, "'length' or 'speedup'"),
        (lambda: by_category(REPORT, stacks=["dbs"]).spec, "'dbs' was not measured"),
        (lambda: study_of({"rows": 1}), "not an ablation or a bench report"),
        (lambda: study_of([]), "expected an ablation"),
        (lambda: study_of(BENCH / "nowhere.json"), "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(wrong, said):
    with pytest.raises(ValueError, match=said) as error:
        wrong()
    assert "\n" not in str(error.value)


def test_subsets_are_no_methods():
    assert all("[" not in r.method for r in methods(study_of(ABLATION).at(0.0)))
