"""Single views: pages, pictures, a selection, strict options; and what those of the law compute."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import partial

import ipywidgets as widgets
import pytest
import traitlets

from hsd_viz import figures, views
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.figures.palette import HUES
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.law import predict
from hsd_viz.latency.select import select
from hsd_viz.views.export import content_of
from hsd_viz.views.linked import LinkedView
from tests.rows import column, keyed
from tests.views.make_trace import make_trace


@pytest.fixture(scope="module")
def basis():
    return views.recorded()


def every_view(basis) -> dict[str, widgets.Widget]:
    trace = load_bundled("both")
    linked = ("TokenStream", "RoundInspector", "Timeline", "Staircase", "Panels", "LocalityMap")
    made = [getattr(views, name)(trace) for name in (*linked, "DraftGame")]
    made += [views.Chart(figures.acceptance(trace)), views.Versus([trace, trace])]
    made += [views.HierarchyGraph(basis), views.RuleLab(), views.OneDraftWhatIf(basis)]
    return {type(view).__name__: view for view in made}


def test_every_view_has_a_page(basis):
    made = every_view(basis)
    public = {name for name in views.__all__ if isinstance(getattr(views, name), type)} - {
        "Basis",
        "Estimate",
    }
    assert public - {"LinkedView"} == set(made), "a new view is tried here"
    for name, view in made.items():
        page = view.to_html()
        assert "script-src 'unsafe-inline' blob:" in page and not re.search(
            r'(?:src|href)="(?!data:|#\$)', page
        ), name
        assert "application/vnd.jupyter.widget-view+json" in view._repr_mimebundle_()[0]


def test_unknown_options_are_errors():
    trace = make_trace()
    with pytest.raises(TypeError, match="RoundInspector has no option 'round'") as error:
        views.RoundInspector(trace, round=3)
    assert "cursor" in str(error.value)
    assert "group" in str(error.value)
    with pytest.raises(TypeError, match="did you mean 'details'"):
        views.TokenStream(trace, detail=False)
    with pytest.raises(TypeError, match="no option"):
        views.Versus([], pin=2)
    assert views.TokenStream(trace, details=False).details is False
    assert views.RoundInspector(trace, layout=widgets.Layout(width="50%")).layout.width == "50%"


def test_views_take_the_path_of_a_trace(tmp_path):
    path = tmp_path / "run.json.gz"
    make_trace().save(path)
    for given in (path, str(path)):
        assert len(views.RoundInspector(given).data["tokens"]["index"]) == 3
        assert views.TokenStream(given).trace.token_ids == make_trace().token_ids
    with pytest.raises(TypeError, match="expected a Trace or the path"):
        views.Timeline(42)


# --- one run, one cursor --------------------------------------------------------------------------


class Tally(LinkedView):
    _esm = "export default {};"


def test_a_view_carries_its_trace_and_the_palette_as_json():
    view = Tally(make_trace())
    state = {name: getattr(view, name) for name in ("data", "palette", "group", "cursor")}
    assert json.loads(json.dumps(state)) == state
    assert len(view.data["calls"]["round"]) == 3
    assert view.data["meta"]["wall_ns"] == 21_000_000
    assert view.data["meta"]["sampling"] == {
        "temperature": 0.8,
        "top_k": 40,
        "top_p": 0.9,
        "seed": 7,
    }
    assert view.data["meta"]["stack"] == "db > nano:4 > target"
    assert view.data["meta"]["asked"] == "db > nano > target"
    before = view.data["run"]
    view.show(make_trace())
    assert view.data["run"] != before, "shown again it is another run, and its cursor begins anew"
    assert Tally().group != Tally().group
    assert Tally(group="mine").group == "mine"
    assert Tally().data == {}


def test_linked_views_share_a_group_and_the_trace_travels_once():
    stream = views.TokenStream()
    second = views.TokenStream(make_trace())
    third = Tally(make_trace())
    assert views.link(stream, second, third) == stream.group == second.group == third.group
    assert len(second.data["tokens"]["index"]) == 3
    assert third.data == {}
    assert len(content_of([third])["views"][0]["state"]["data"]["tokens"]["index"]) == 3
    assert views.link(second, third, group="both") == second.group == third.group == "both"
    assert stream.group != "both"
    with pytest.raises(ValueError, match="at least one view"):
        views.link()


def test_the_cursor_and_the_selection_are_visible_in_python():
    trace = make_trace()
    stream = views.TokenStream(trace)
    inspector = views.RoundInspector()
    views.link(stream, inspector)
    assert inspector.trace is trace
    assert views.RoundInspector().trace is None
    assert stream.cursor == {}
    assert stream.selection.empty
    assert views.RoundInspector().selection.empty
    stream.cursor = {"token": 2, "round": 2, "pinned": True}  # as the script reports it
    assert list(inspector.selection["index"]) == [2]
    assert list(inspector.selection.columns) == list(trace.tokens.columns)
    stream.show(make_trace())
    assert stream.cursor == {}


def test_compose_arranges_views_and_figures():
    trace = make_trace()
    stream = views.TokenStream(trace)
    chart = figures.by_source(trace)
    both = views.compose([stream, chart], cols=3)
    assert both.layout.grid_template_columns == "repeat(3, minmax(0, 1fr))"
    assert both.children[0] is stream
    assert both.children[1].figure is chart
    page = both.to_html()
    assert 'id="view-1"' in page
    assert 'id="view-2"' not in page
    assert "repeat(3, minmax(0, 1fr))" in page
    for parts, cols, error in [
        ([], 2, ValueError),
        ([stream], 0, ValueError),
        (["stream"], 1, TypeError),
    ]:
        with pytest.raises(error):
            views.compose(parts, cols=cols)
    own = content_of([Tally(trace)])
    assert own["scripts"] == ["export default {};"]
    assert own["views"][0]["script"] == 0
    assert len(trace.show().children) == 4


def test_a_file_is_written_by_its_ending(tmp_path, monkeypatch):
    view = views.RuleLab()
    assert view.save(tmp_path / "x.html").read_text() == view.to_html()
    with pytest.raises(
        ValueError, match=r"x\.gif has no known ending: use \.html, \.svg, \.png or \.pdf"
    ):
        view.save(tmp_path / "x.gif")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="SVG, PNG and PDF files need one"):
        view.save(tmp_path / "x.png")
    with pytest.raises(
        ValueError, match=r"RuleLab is drawn with HTML and has no vectors: save it as \.png"
    ):
        view.save(tmp_path / "x.svg")
    assert os.listdir(tmp_path) == ["x.html"]


# --- several runs ---------------------------------------------------------------------------------


def test_a_comparison_shows_its_runs_in_order():
    versus = views.Versus([make_trace(), make_trace()])
    assert column(versus.runs, "run") == ["A", "B"]
    versus.pinned = 1
    versus.show([load_bundled("both"), load_bundled("plain"), make_trace()])
    assert [run["meta"]["stack"] for run in versus.runs][1] == "target"
    assert versus.pinned == -1
    json.dumps(versus.runs)


@pytest.mark.parametrize(
    "option",
    [
        partial(views.RuleLab, p=[1]),
        partial(views.RuleLab, p=[-1, 2]),
        partial(views.RuleLab, lookahead=4),
        partial(views.RuleLab, epsilon=0),
        partial(views.RuleLab, seed=-1),
    ],
)
def test_the_rule_lab_checks_its_values(option):
    with pytest.raises(traitlets.TraitError):
        option()


# --- the latency law ------------------------------------------------------------------------------

#: Costs far apart: two draft models are best; a database that is often silent is worth less than
#: they are.
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


def test_the_graph_holds_models_databases_and_edges_and_the_pick_of_the_selector():
    launched = LevelCost((0.02, 0.021), draft=(0.005,), draft_overhead=0.01)
    known = replace(CALIBRATION, costs={**CALIBRATION.costs, "nano": launched})
    view = views.HierarchyGraph(known, source="made up")
    levels = keyed(view.graph["levels"], "name")
    assert {name: level["ms"] for name, level in levels.items()} == pytest.approx(
        {"db": 0.001, "nano": 0.005 + 0.01 / 4, "small": 0.2, "target": 1.0}
    )
    assert len(levels["db"]["hues"]) == 3
    assert levels["target"]["hues"][0]["light"] == HUES["target"].light
    rates = {(e["from"], e["to"]): e["rate"] for e in view.graph["edges"]}
    expected = {
        ("nano", "small"): 0.75,
        ("small", "target"): 0.85,
        ("nano", "target"): 0.6,
        ("db", "target"): 1.0,
    }
    assert rates == pytest.approx(expected)
    assert "made up" in view.graph["source"]
    choice = select(known)
    picked = dict(view.picked)
    assert picked["stack"] == choice.picked.stack
    assert choice.structure.words == "hierarchy"
    assert picked["words"] == "A hierarchy: each level verifies the one below."
    assert picked["ms"] == predict(choice.picked.stack, known).ms_per_token
    assert picked["over_plain"] == pytest.approx(1.0 / picked["ms"] - 1)
    assert picked["over_single"] == pytest.approx(
        choice.best_single_draft.ms_per_token / picked["ms"] - 1
    )
    json.dumps(view.graph | picked)


def test_a_stack_has_one_predicted_figure_in_all_views_and_it_is_the_plans():
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 1}
    kept = {
        "identity": who,
        "texts": {"suite": "python", "prompts": 8},
        "calibration": CALIBRATION.to_dict(),
    }
    basis = views.basis_of(kept)
    assert "A processor" in basis.source
    assert basis.calibration == CALIBRATION
    drawn = figures.ranking(basis)
    for stack, ms in zip(drawn.layout.yaxis.ticktext, drawn.data[0].x, strict=True):
        assert ms == pytest.approx(predict(stack, CALIBRATION).ms_per_token)


def test_presets_of_the_sliders_are_the_calibrated_draft_models(basis):
    view = views.OneDraftWhatIf(basis)
    assert column(view.presets, "name") == ["nano", "small"]
    assert view.acceptance == view.presets[-1]["acceptance"]
    assert 0 < view.cost < 1
    assert views.OneDraftWhatIf().presets == []
    assert views.OneDraftWhatIf(lookahead=6).lookahead == 6
