"""The figures of drafting from databases say what the trace, the ablation and the report say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_trace import make_trace

import hsd_viz as hsd
from hsd_viz import views
from hsd_viz.figures import drafting_data as published
from hsd_viz.figures.drafting_bars import ablation_spec, category_spec, order_spec
from hsd_viz.figures.drafting_data import method, study_of
from hsd_viz.figures.drafting_planes import acceptance_plane, methods, speed_plane_spec, temperature_spec
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
    (group,) = ablation_spec(trace)["groups"]
    (row,) = group["rows"]
    parts = {source: value for source, value, _ in row["parts"]}
    assert sum(parts.values()) == pytest.approx(figures["mean_acceptance_length"], abs=1e-3)
    assert parts["context"] == pytest.approx(
        figures["accepted_by_source"]["context"] / figures["target_forwards"], abs=1e-3
    )
    rounds = trace.tokens.groupby("round").size()
    assert row["cells"][1] == f"{100 * rounds[rounds > 1].sum() / len(trace.token_rows):.0f} %"


def test_the_ablation_has_every_subset_and_every_order_of_both_drafters():
    shown = ablation_spec(ABLATION)["groups"]
    assert [len(g["rows"]) for g in shown] == [7, 7, len(published.SUBSETS)]
    assert {r["label"] for r in shown[0]["rows"]} == {p.what for p in published.SUBSETS}
    orders = order_spec(ABLATION, temperature=1.0, beside=False)["groups"]
    assert [len({r["label"] for r in g["rows"]}) for g in orders] == [6, 6]
    rows = json.loads(ABLATION.read_text())["rows"]
    # All stacks of a temperature wrote the same text, so all wrote equally much.
    assert all(len({r["tokens"] for r in rows if r["temperature"] == t}) == 1 for t in (0.0, 0.7, 1.0))
    assert all(r["tokens"] == r["target_forwards"] + sum(r["accepted_by_source"].values()) for r in rows)


def test_only_what_is_shown_stands_in_the_legend():
    assert set(ablation_spec(ABLATION, beside=False)["hues"]) == {
        "target",
        "context",
        "model",
        "statistics",
    }


def test_planes_have_every_method_once_and_published_figures_apart():
    shown = acceptance_plane(ABLATION)
    own = [p["label"] for p in shown["points"] if p["kind"] != "there"]
    assert sorted(own) == sorted(
        {"db", "hd", "hd + window", "lookup", "sam", "suffix", "recycling", "retrieval", "ngram-cache"}
    )
    assert [p["label"] for p in shown["points"] if p["kind"] == "there"] == [p.what for p in published.METHODS]
    assert "Vicuna" in shown["source"]
    assert "Vicuna" not in acceptance_plane(ABLATION, beside=False)["source"]


def test_curves_of_equal_speed_keep_the_cost_model():
    spec = speed_plane_spec(REPORT)
    plain = next(s for s in json.loads(REPORT.read_text())["stacks"] if s["stack"] == "target")["tokens_per_second"]
    for iso in spec["isos"]:
        for x, y in iso["points"]:
            assert y / (1 / plain + 1e-6 * x) == pytest.approx(float(iso["label"]), rel=1e-3)
    # Draft models cost forwards that are not drafting latency: they have no place on this plane.
    assert {p["label"] for p in spec["points"]} == {"db", "hd", "lookup"}


def test_several_reports_make_curves_over_the_temperature():
    spec = temperature_spec([REPORT, BENCH / "heldout-t1-cpu.json"], stacks=["db", "nano:4"])
    values = {tuple(map(tuple, line["points"])) for line in spec["lines"]}
    rows = {
        p.stem: {s["stack"]: s["mean_acceptance_length"] for s in json.loads(p.read_text())["stacks"]}
        for p in BENCH.glob("heldout-*")
    }
    for stack in ("db > target", "nano:4 > target"):
        cold, warm = rows["heldout-greedy-cpu"][stack], rows["heldout-t1-cpu"][stack]
        assert ((0.0, round(cold, 4)), (1.0, round(warm, 4))) in values
    assert sum(line["kind"] == "there" for line in temperature_spec(ABLATION, metric="speedup")["lines"]) == 3


def test_categories_are_those_of_the_report():
    shown = category_spec(REPORT, stacks=["db", "small:4"])
    report = json.loads(REPORT.read_text())
    assert [g["title"] for g in shown["groups"]] == list(report["suite"]["categories"])
    first = next(s for s in report["stacks"] if s["stack"] == "db > target")["by_category"]["rewrite"]
    assert shown["groups"][0]["rows"][0]["cells"][0] == f"{first['mean_acceptance_length']:.2f}"


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ("db[context,model,statistics] > target", "db"),
        ("db[statistics,context] > target", "db[statistics,context]"),
        ("hd[context,model,statistics,window] > target", "hd + window"),
        ("db > nano:4 > target", "db > nano:4"),
        ("hf-lookup", "hf-lookup"),
    ],
)
def test_methods_are_called_as_they_are_written(stack, name):
    assert method(stack) == name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: ablation_spec(REPORT), "no tokens by database"),
        (lambda: order_spec(hsd.load_bundled("databases")), "no stack with all three databases"),
        (lambda: ablation_spec(ABLATION, temperature=0.3), "use 0, 0.7, 1"),
        (lambda: speed_plane_spec(hsd.load_bundled("databases")), "plain decoding was not measured"),
        (lambda: temperature_spec(REPORT), "only one temperature"),
        (lambda: temperature_spec(ABLATION, metric="joy"), "'length' or 'speedup'"),
        (lambda: category_spec(REPORT, stacks=["dbs"]), "'dbs' was not measured"),
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
