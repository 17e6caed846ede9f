"""The graph shows what the calibration holds, and what people take out is never picked."""

from __future__ import annotations

import json

import pytest

from hsd_viz import views
from hsd_viz.figures.palette import HUES
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.law import predict
from hsd_viz.latency.select import select
from hsd_viz.views.hierarchy import token_cost

#: Costs far apart: two draft models are best; a database that is often silent is worth less than they are.
CALIBRATION = Calibration(
    models=("nano", "small", "target"),
    costs={"nano": LevelCost((0.02,)), "small": LevelCost((0.2,)), "target": LevelCost((1.0,))},
    edges={
        ("nano", "small"): Edge(tail=0.75),
        ("small", "target"): Edge(tail=0.85),
        ("nano", "target"): Edge(tail=0.6),
    },
    tiers={("db", "target"): Tier(((0, 0, 0.6), (2, 2, 0.4)))},
    lookups={"db": LookupCost(0.001, 0.0)},
)


def names(graph: views.HierarchyGraph) -> list[str]:
    return [step["name"] for step in graph.picked["path"]]


def test_the_graph_holds_models_databases_and_edges():
    graph = views.HierarchyGraph(CALIBRATION, source="made up").graph
    assert [m["name"] for m in graph["models"]] == ["nano", "small", "target"]
    assert [m["ms"] for m in graph["models"]] == [0.02, 0.2, 1.0]
    assert graph["models"][2]["hue"] == {
        "label": HUES["target"].label,
        "light": HUES["target"].light,
        "dark": HUES["target"].dark,
    }
    rates = {(e["from"], e["to"]): e["rate"] for e in graph["edges"]}
    assert rates == pytest.approx(
        {("nano", "small"): 0.75, ("small", "target"): 0.85, ("nano", "target"): 0.6, ("db", "target"): 1.0}
    )
    (tier,) = [e for e in graph["edges"] if e["from"] == "db"]
    assert tier["per"] == pytest.approx(0.8)
    assert len(graph["bottoms"][0]["stripes"]) == 3  # context, model, statistics
    assert "made up" in graph["source"]
    json.dumps(graph)


def test_a_token_costs_what_its_words_say():
    launched = LevelCost((0.2, 0.21), draft=(0.05,), draft_overhead=0.1)
    ms, words = token_cost(launched, target=False)
    assert ms == pytest.approx(0.05 + 0.1 / 4) and "a draft of 4" in words
    assert token_cost(LevelCost((1.0, 1.2)), target=True) == (1.0, "a forward pass over one token")
    # Never fed fewer than three: what one would cost is not known, and said.
    ms, words = token_cost(LevelCost((0.6, 0.6, 0.6, 0.7)), target=False)
    assert ms == 0.6 and "up to 3 tokens" in words


def test_the_pick_is_the_selectors_with_its_figures():
    graph = views.HierarchyGraph(CALIBRATION)
    choice = select(CALIBRATION)
    assert choice.kind == "hierarchy"
    shown = graph.picked
    assert shown["stack"] == choice.picked.stack
    assert shown["ms"] == predict(choice.picked.stack, CALIBRATION).ms_per_token
    assert shown["over_plain"] == pytest.approx(1.0 / shown["ms"] - 1)
    assert shown["over_single"] == pytest.approx(choice.best_single_draft.ms_per_token / shown["ms"] - 1)
    assert [(step["name"], step["lookahead"]) for step in shown["path"]][-1] == ("target", None)
    assert all(step["lookahead"] for step in shown["path"][:-1])


def test_what_is_taken_out_is_never_picked_and_putting_it_back_restores_the_pick():
    graph = views.HierarchyGraph(CALIBRATION)
    first = dict(graph.picked)
    graph.out = ["small"]
    assert names(graph) == ["nano", "target"] and graph.picked["is_single"]
    graph.out = ["small", "nano"]
    assert names(graph) == ["db", "target"]
    assert graph.picked["over_single"] is None and graph.picked["single"] == ""
    graph.out = ["small", "nano", "db"]
    assert names(graph) == ["target"] and graph.picked["over_plain"] == 0
    graph.out = []
    assert graph.picked == first


def test_only_drafts_and_databases_can_be_taken_out():
    assert names(views.HierarchyGraph(CALIBRATION, out=["nano"])).count("nano") == 0
    for name in ("target", "huge"):
        with pytest.raises(ValueError, match=f"'{name}' cannot be removed"):
            views.HierarchyGraph(CALIBRATION, out=[name])
    # A page that says it all the same takes nothing from the target.
    graph = views.HierarchyGraph(CALIBRATION)
    graph.out = ["target"]
    assert names(graph)[-1] == "target"


def test_an_error_in_the_selection_is_said_on_the_page(monkeypatch):
    graph = views.HierarchyGraph(CALIBRATION)

    def broken(*_args, **_options):
        raise ArithmeticError("no number")

    monkeypatch.setattr("hsd_viz.views.hierarchy.select", broken)
    graph.out = ["nano"]
    assert graph.picked["error"] == "no number"
    assert graph.picked["out"] == ["nano"]
