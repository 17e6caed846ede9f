"""What every view offers: pages, pictures, a static form, a selection, strict options, tabs of other packages."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

import ipywidgets as widgets
import plotly.graph_objects as go
import pytest
from make_trace import META, STEPS, make_trace

import hsd_viz as hsd
from hsd_viz import figures, views
from hsd_viz.bench.report import read_report
from hsd_viz.figures import theme
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.trace import Trace
from hsd_viz.views import doors, registry, sections
from hsd_viz.views.reports import FOLDERS


@pytest.fixture(scope="module")
def basis():
    return views.recorded()


def every_view(basis) -> dict[str, widgets.Widget]:
    trace = hsd.load_bundled("both")
    linked = (views.TokenStream, views.RoundInspector, views.Timeline, views.Access, views.Staircase, views.Rounds)
    made = [kind(trace) for kind in linked]
    made += [
        views.LocalityMap(trace),
        views.Chart(figures.acceptance(trace)),
        views.Versus(),
        views.StackBlocks("db > nano:4 > target"),
    ]
    made += [views.HierarchyGraph(basis), views.RuleLab(), views.Drafter(trace)]
    made += [views.OneDraftWhatIf(basis)]
    return {type(view).__name__: view for view in made}


def test_every_view_has_the_doors_and_a_static_form(basis):
    made = every_view(basis)
    public = {name for name in views.__all__ if isinstance(getattr(views, name), type)} - {"Basis", "Measured"}
    assert public - {"LinkedView"} == set(made), "a new view is tried here"
    for name, view in made.items():
        page = view.to_html()
        assert "script-src 'unsafe-inline' blob:" in page and not re.search(r'(?:src|href)="(?!data:)', page), name
        bundle, _ = view._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        text = re.sub("<[^>]+>", " ", bundle["text/html"])
        assert "Static form" in text and "<script" not in bundle["text/html"] and len(bundle["text/html"]) < 200_000
    shown = {name: re.sub("<[^>]+>", " ", view._repr_mimebundle_()[0]["text/html"]) for name, view in made.items()}
    m = hsd.load_bundled("both").metrics()
    assert f"{m['mean_acceptance_length']:.2f}" in shown["RoundInspector"]
    assert made["HierarchyGraph"].picked["stack"].replace(">", "&gt;") in shown["HierarchyGraph"]
    assert made["OneDraftWhatIf"].plot.drawn["layout"]["meta"]["verdict"]["text"][:40] in shown["OneDraftWhatIf"]
    assert "db &gt; nano:4 &gt; target" in shown["StackBlocks"]
    assert f"mean acceptance length {m['mean_acceptance_length']:.2f}" in shown["Chart"]


def test_charts_by_name_take_the_arguments_of_their_functions(basis):
    report, ablation = FOLDERS[1] / "heldout-greedy-cpu.json", FOLDERS[1] / "ablation.json"
    given = {"LatencySurface": (basis, "nano > small > target"), "Levels": (hsd.load_bundled("both"),)}
    given |= {"Ranking": (basis,), "CategoryBars": (report,)}
    for name, function in views._CHARTS.items():
        arguments = given.get(name, (ablation,))
        chart = getattr(views, name)(*arguments)
        figure = getattr(figures, function)(*arguments)
        assert chart.figure.to_json() == figure.to_json(), name
        head, *rows = figure.layout.meta.get("table") or [[]]
        assert all(len(row) == len(head) for row in rows), name
        if rows:
            assert f">{rows[0][1]}<" in chart._repr_mimebundle_()[0]["text/html"], name


def test_static_text_is_escaped():
    bundle, _ = views.TokenStream(make_trace())._repr_mimebundle_()
    assert "&lt;script&gt;" in bundle["text/html"] and "<script>" not in bundle["text/html"]
    assert "<script>" not in views.TokenStream(make_trace()).to_html().replace('<script type="module">', "")


def test_unknown_options_are_errors():
    trace = make_trace()
    with pytest.raises(TypeError, match="RoundInspector has no option 'round'") as error:
        views.RoundInspector(trace, round=3)
    assert "cursor" in str(error.value) and "group" in str(error.value)
    with pytest.raises(TypeError, match="did you mean 'ghosts'"):
        views.TokenStream(trace, ghost=False)
    with pytest.raises(TypeError, match="no option"):
        views.Versus(traces=None, pin=2)
    assert views.TokenStream(trace, ghosts=False).ghosts is False
    assert views.RoundInspector(trace, layout=widgets.Layout(width="50%")).layout.width == "50%"


def test_views_take_the_path_of_a_trace(tmp_path):
    path = tmp_path / "run.json.gz"
    make_trace().save(path)
    for given in (path, str(path)):
        assert len(views.RoundInspector(given).data["tokens"]["index"]) == 3
        assert views.TokenStream(given).trace.token_ids == make_trace().token_ids
        assert views.LocalityMap(given).spec["prompt"] == 2
    hsd.load_bundled("both").save(path)
    assert views.Levels(path).drawn == views.Levels(hsd.load_bundled("both")).drawn
    with pytest.raises(TypeError, match="expected a Trace or the path"):
        views.Timeline(42)


def test_the_cursor_and_the_selection_are_visible_in_python():
    trace = make_trace()
    stream, inspector = views.TokenStream(trace), views.RoundInspector()
    views.link(stream, inspector)
    assert inspector.trace is trace and views.RoundInspector().trace is None
    assert stream.cursor == {} and stream.selection.empty and views.RoundInspector().selection.empty
    seen = []
    stream.observe(lambda change: seen.append(change.new), "cursor")
    stream.cursor = {"token": 2, "round": 2, "pinned": True}  # as the script reports it
    assert stream.cursor == {"token": 2, "round": 2, "pinned": True} == seen[0]
    assert list(stream.selection["index"]) == [2] and list(stream.selected_rounds["id"]) == [2]
    inspector.selected = [1, 2]
    assert list(inspector.selection["index"]) == [0, 1, 2]
    assert list(inspector.selection.columns) == list(trace.tokens.columns)
    assert list(inspector.selected_rounds["accepted"]) == [1, 0]
    stream.selected = [1]
    stream.show(make_trace())
    assert stream.cursor == {} and stream.pinned == -1 and stream.selected == []


def test_a_live_run_is_the_trace_of_its_group():
    stream, inspector = views.TokenStream(), views.RoundInspector()
    views.link(stream, inspector)
    stream.begin(META)
    stream.append(STEPS[0])
    assert len(inspector.trace) == 2
    inspector.selected = [1]
    assert list(inspector.selection["kind"]) == ["accepted", "correction"]


def test_a_linked_view_without_data_takes_its_run_to_its_page():
    stream, inspector = views.TokenStream(make_trace()), views.RoundInspector()
    views.link(stream, inspector)
    assert inspector.data == {} and len(inspector.shown_data()["tokens"]["index"]) == 3
    assert len(inspector.to_html()) > len(views.RoundInspector().to_html()) + 200


def test_compose_arranges_views_and_figures():
    trace = make_trace()
    stream, chart = views.TokenStream(trace), figures.by_source(trace)
    both = views.compose([stream, chart], cols=3)
    assert both.layout.grid_template_columns == "repeat(3, minmax(0, 1fr))"
    assert both.children[0] is stream and both.children[1].figure is chart
    page = both.to_html()
    assert 'id="view-1"' in page and 'id="view-2"' not in page and "repeat(3, minmax(0, 1fr))" in page
    for parts, cols, error in [([], 2, ValueError), ([stream], 0, ValueError), (["stream"], 1, TypeError)]:
        with pytest.raises(error):
            views.compose(parts, cols=cols)


def test_a_file_is_written_by_its_ending(tmp_path, monkeypatch):
    view = views.StackBlocks("db > target")
    assert view.save(tmp_path / "x.html").read_text() == view.to_html()
    with pytest.raises(ValueError, match=r"x\.gif has no known ending: use \.html, \.svg or \.png"):
        view.save(tmp_path / "x.gif")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="SVG and PNG files need one"):
        view.save(tmp_path / "x.png")
    # A view is HTML: a picture of it in a foreignObject is drawn by browsers only.
    with pytest.raises(ValueError, match=r"StackBlocks is drawn with HTML and has no vectors: save it as \.png"):
        view.save(tmp_path / "x.svg")
    assert [p.name for p in tmp_path.iterdir()] == ["x.html"]


@pytest.mark.browser
def test_a_chart_is_saved_as_svg_and_png_in_both_themes(tmp_path):
    try:
        theme.chromium()
    except RuntimeError as error:
        pytest.skip(str(error))
    chart = views.Ranking(views.recorded())
    for dark, page in ((False, "rgb(255, 255, 255)"), (True, "rgb(23, 24, 26)")):
        svg = chart.save(tmp_path / "x.svg", dark=dark, width=700).read_text()
        assert svg.startswith("<svg") and "foreignObject" not in svg and "selected by the law" in svg and page in svg
    png = chart.figure.save(tmp_path / "x.png", width=500, scale=1).read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == 500


@pytest.mark.browser
def test_a_view_is_saved_as_png(tmp_path):
    try:
        theme.chromium()
    except RuntimeError as error:
        pytest.skip(str(error))
    view = views.TokenStream(make_trace())
    png = view.save(tmp_path / "x.png", width=700, scale=1, dark=True).read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == 700


# --- tabs of other packages -------------------------------------------------------------------------------------------


DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "figures.md"
EXAMPLE = re.search(r"```python\n(import anywidget.*?)```", DOCS.read_text(encoding="utf-8"), re.S)[1]


class Page:
    dark, group = False, "page"

    def __init__(self, trace):
        self.trace = trace


@pytest.fixture
def tab():
    names = []

    def add(name, cls):
        names.append(name)
        views.register(name, cls)
        page = Page(make_trace())
        return {s.title: s for s in sections.sections(page)}[name]

    yield add
    for name in names:
        views.unregister(name)


def test_the_example_of_the_documentation_is_a_tab_that_follows_the_run(tab):
    assert len(EXAMPLE.splitlines()) <= 42
    made = {}
    exec(EXAMPLE.replace("hsd.dashboard()", "page = hsd.dashboard()"), made)
    try:
        assert [p.title for p in made["page"].tabs.panels][-2:] == ["Entropy", "Tokens by source"]
    finally:
        views.unregister("Tokens by source")
    section = tab("Entropy", made["Entropy"])
    section.open()
    (view,) = section.box.children
    assert view.tokens == [["<script>", 0.4], ["\\xe2\\x9c", 1.0]]
    section.page.trace = hsd.load_bundled("both")
    section.open()
    assert len(section.box.children[0].tokens) == 128 and view.comm is None
    assert 'id="view-0"' in views.compose([section.box.children[0]]).to_html()


def test_a_tab_can_be_a_figure_or_a_linked_view(tab):
    section = tab("Sources", figures.by_source)
    section.open()
    assert isinstance(section.box.children[0].figure, go.Figure)
    linked = tab("Second inspector", views.RoundInspector)
    linked.open()
    (view,) = linked.box.children
    assert view.group == "page" and view.data == {}
    linked.page.trace = hsd.load_bundled("both")
    linked.open()
    assert linked.box.children == (view,), "it follows the page's run by itself"


def test_a_view_that_fails_shows_its_error_in_its_tab(tab):
    def broken(_trace):
        raise KeyError("entropy")

    section = tab("Broken", broken)
    section.open()
    assert "The view 'Broken' failed: KeyError: 'entropy'" in section.box.children[0].value
    other = tab("Text", lambda _trace: "text")
    other.open()
    assert "not str" in other.box.children[0].value


def test_names_and_classes_are_checked():
    with pytest.raises(ValueError, match="invalid name"):
        views.register(" ", figures.by_source)
    with pytest.raises(TypeError, match="cannot be registered"):
        views.register("x", 3)
    assert "x" not in registry.registered()


def test_a_package_adds_a_tab_by_an_entry_point(monkeypatch):
    point = importlib.metadata.EntryPoint("Sources", "hsd_viz.figures:by_source", registry.GROUP)
    gone = importlib.metadata.EntryPoint("Gone", "no_such_package:View", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point, gone] if group == "hsd_viz.views" else [])
    found = {s.title: s for s in sections.sections(Page(make_trace()))}
    found["Sources"].open()
    assert found["Sources"].box.children[0].figure.layout.title.text == "Tokens by source"
    found["Gone"].open()
    assert "ModuleNotFoundError" in found["Gone"].box.children[0].value


# --- objects ----------------------------------------------------------------------------------------------------------


def test_objects_have_rich_forms_with_escaped_text():
    trace = make_trace(prompt="<b>x</b>", device_name="<i>")
    html = trace._repr_html_()
    assert "&lt;b&gt;x" in html and "<b>x" not in html and "<i>" not in html and "1.50" in html
    assert "?" in Trace({})._repr_html_()
    stack = Stack(parse("db > target").bottom, (Model("<x>/y", 4), Model("target")))._repr_html_()
    assert "draft source" in stack and "&lt;x&gt;/y" in stack and "<td" in stack
    path = FOLDERS[1] / "heldout-greedy-cpu.json"
    report = read_report(path.read_text(), path.name)
    first = max(report.stacks, key=lambda s: s.speedup_over_plain.value or 0)
    assert f"{first.speedup_over_plain.value:.2f}×" in report._repr_html_()
    from hsd_viz.engine import ReplayEngine

    assert "recording" in ReplayEngine()._repr_html_()


def test_the_engine_has_a_rich_form():
    pytest.importorskip("torch")
    engine = hsd.load_engine(threads=1)
    assert "int8" in engine._repr_html_() and repr(engine).startswith("LocalEngine(target='target'")


def test_the_traits_of_a_view_stay_json():
    view = views.TokenStream(make_trace())
    state = {name: getattr(view, name) for name in ("cursor", "selected", "data")}
    assert json.loads(json.dumps(state)) == state
    assert issubclass(type(view), doors.View)
