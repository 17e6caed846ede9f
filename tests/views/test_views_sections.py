"""The dashboard's tabs: made when they are opened, of the run on the page and of measurements that say where they come from."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from make_trace import make_trace

from hsd_viz import load_bundled, views
from hsd_viz.calibration import store
from hsd_viz.calibration.store import identity
from hsd_viz.machine import cpu_model
from hsd_viz.trace import Trace
from hsd_viz.views import reports, sections, tabs
from hsd_viz.views.controls import Prose
from hsd_viz.views.open_file import OpenFile
from hsd_viz.views.section_hierarchy import RECORDED, RUN, basis, chains_of


class Page:
    dark, group = False, "page"

    def __init__(self, trace):
        self.trace = trace


@pytest.fixture
def page():
    return Page(load_bundled("both"))


SECTIONS = {
    "Round": sections.RoundSection,
    "Acceptance": sections.AcceptanceSection,
    "Databases": sections.DatabasesSection,
    "Hierarchy": sections.HierarchySection,
    "Benchmark": sections.BenchmarkSection,
}


def section(page, name):
    found = SECTIONS[name](page)
    found.open()
    return found


def all_in(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from all_in(child)


def has(widget, *kinds):
    # An anywidget is of a class of its own, made with it from the one that is named here.
    return all(any(isinstance(w, kind) for w in all_in(widget)) for kind in kinds)


def said(widget):
    return " ".join(str(w.value) for w in all_in(widget) if isinstance(w, Prose))


def test_nothing_is_made_before_its_tab_is_opened(page):
    tabs = sections.sections(page)
    assert [tab.title for tab in tabs] == ["Watch", "Why", "Databases", "Time", "Compare", "Your traffic"]
    for tab in tabs:
        for part in tab.parts:
            assert [type(w) for w in all_in(part.widget)] == [sections.widgets.VBox, Prose], part
            assert part.words in said(part.widget)


def test_a_tab_opens_all_its_sections(page):
    page.lend_engine = page.hold = page.release = None
    for tab in sections.sections(page):
        tab.open()
        assert all(len(list(all_in(part.widget))) > 2 for part in tab.parts), tab.title


def test_what_shows_the_run_is_made_anew_for_another_run_and_only_then(page):
    databases = section(page, "Databases")
    before = databases.views.children
    databases.open()
    assert databases.views.children is before
    page.trace = load_bundled("databases")
    databases.open()
    assert databases.views.children is not before
    assert "db > target" in databases.views.children[0].spec["source"]
    assert all(w.comm is None for w in before), "what is no longer shown is let go"


def test_charts_follow_the_run(page):
    acceptance = section(page, "Acceptance")
    drawn = {name: chart.drawn for name, chart in acceptance.charts.items()}
    assert all(drawn.values()) and all(chart.dark for chart in acceptance.charts.values())
    page.trace = load_bundled("databases")
    acceptance.open()
    assert all(chart.drawn != drawn[name] for name, chart in acceptance.charts.items())


def titles(box) -> list[str]:
    return [w.drawn["layout"]["meta"]["title"] for w in all_in(box) if isinstance(w, views.Chart)]


def test_while_another_run_goes_on_what_is_of_the_run_before_says_so(page):
    databases = SECTIONS["Databases"](page)
    databases.stale(True)
    databases.open()
    assert "hsd-stale" in databases.run._dom_classes
    databases.stale(False)
    assert "hsd-stale" not in databases.run._dom_classes


def test_databases_have_the_map_of_the_run(page):
    assert has(section(page, "Databases").run, views.LocalityMap)


def test_a_trace_that_cannot_be_mapped_is_a_sentence(page):
    page.trace = load_bundled("plain")
    assert "No stack with a database was measured" in said(section(page, "Databases").run)


def test_the_hierarchy_stands_on_recordings_or_on_the_run_shown(page, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    hierarchy = section(page, "Hierarchy")
    assert has(hierarchy.law, views.HierarchyGraph) and titles(hierarchy.law) == ["Stacks, fastest first"]
    assert has(hierarchy.what_if, views.OneDraftWhatIf)
    assert hierarchy.chain.value == "db > nano > small > target"
    assert titles(hierarchy.plot) == ["Latency of db > nano > small > target by lookahead"]
    assert titles(hierarchy.level)[0].startswith("Prediction and run by level")
    assert "recorded runs" in hierarchy.law.children[0].graph["source"]
    hierarchy.source.value = RUN
    source = hierarchy.law.children[0].graph["source"]
    assert "from the run shown and from the plain run beside it (temperature 0.7, 128 tokens on" in source
    page.trace = load_bundled("databases")
    hierarchy.open()
    graph = hierarchy.law.children[0].graph
    assert [m["name"] for m in graph["models"]] == ["target"], "the law now stands on the new run"
    assert hierarchy.surface.layout.display == "none", "this run has no two draft models"
    hierarchy.source.value = RECORDED
    assert hierarchy.surface.layout.display is None and hierarchy.chain.value


class Form:
    def __init__(self, temperature):
        self.options = {"temperature": temperature}


def keep(folder, temperature, device="cpu", age=0.0, **other):
    """A calibration as ``hsd-viz plan`` keeps it, of the models of the recordings."""
    who = {
        **identity(load_bundled("both").meta),
        "device": device,
        "device_name": cpu_model(),
        "dtype": "int8",
        "threads": 1,
        "sampling": {"temperature": temperature},
        **other,
    }
    texts = {"suite": "python", "prompts": 48, "max_new_tokens": 128}
    pooled = views.recorded().calibration.to_dict()
    (folder / f"{temperature}.json").write_text(
        json.dumps({"identity": who, "texts": texts, "created": 1.7e9 - age, "calibration": pooled})
    )


def test_the_source_is_the_one_that_fits_the_form_and_says_so(page, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    page.trace = load_bundled("both")
    page.request = lambda: Form(0.7)
    hierarchy = section(page, "Hierarchy")
    assert hierarchy.source.value == RECORDED and "Matches the form: both at temperature 0.7" in said(hierarchy.widget)
    page.request = lambda: Form(1.0)
    hierarchy.open()
    assert "Temperature mismatch: form temperature 1, calibration temperature 0.7" in said(hierarchy.widget)
    keep(tmp_path, 1.0)
    keep(tmp_path, 0.5)
    other = section(page, "Hierarchy")
    assert other.source.value == str(tmp_path / "1.0.json") and "Matches the form: both at temperature 1" in said(
        other.widget
    )
    assert f"hsd-viz plan of target: python, 48 prompts, temperature 1, {cpu_model()}, 2023-11-14" in [
        words for words, _ in other.source.options
    ]
    page.request = lambda: Form(0.0)
    page.trace = load_bundled("one-draft")
    assert section(page, "Hierarchy").source.value == RUN, "nothing else was decoded at that temperature"


@pytest.mark.parametrize(
    "other",
    [
        {"target": "other/model"},
        {"models": {"target": ["000000000000", "native"]}},
        {"models": {}},
        {"dtype": "bfloat16"},
        {"device_name": "another processor"},
    ],
)
def test_a_calibration_of_other_models_or_machines_is_not_offered(page, tmp_path, monkeypatch, other):
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    page.trace = load_bundled("both")
    page.request = lambda: Form(1.0)
    keep(tmp_path, 1.0, **other)
    foreign = section(page, "Hierarchy")
    assert foreign.source.value in (RECORDED, RUN)
    assert [value for _, value in foreign.source.options] == [RECORDED, RUN]


def test_what_a_pick_rests_on_is_said_with_it(page, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    keep(tmp_path, 0.7)
    hierarchy = section(page, "Hierarchy")
    graph = hierarchy.law.children[0]
    assert (
        "temperature 0.7" in graph.graph["source"]
        and "48 prompts of python" in graph.graph["source"]
        and graph.graph["warning"] == ""
    )
    hierarchy.source.value = RUN
    graph, ranking = hierarchy.law.children
    assert graph.graph["warning"].startswith("Based on 128 tokens of one short run")
    # Draft models of this run stood beneath one another: nano never stood before the target.
    assert "nano > target" in graph.picked["missed"] and "nano > target" in ranking.drawn["layout"]["meta"]["text"]
    graph.out = ["nano"]
    assert not any("nano" in pair for pair in graph.picked["missed"])
    tags = " ".join(row[-1] for row in ranking.drawn["layout"]["meta"]["table"])
    assert "best single draft of the calibration" in tags


def test_a_basis_needs_a_run_and_chains_need_measured_neighbours():
    with pytest.raises(ValueError, match="no run to estimate"):
        basis(RUN, None)
    with pytest.raises(ValueError, match="no run to estimate"):
        basis(RUN, Trace({}))
    assert chains_of(basis(RUN, load_bundled("one-draft")).calibration) == []
    assert chains_of(basis(RUN, load_bundled("hierarchy")).calibration) == ["nano > small > target"]


def test_benchmarks_are_the_projects_own_or_a_file(page):
    bench = section(page, "Benchmark")
    assert len(bench.choice.options) > 3
    summary, speedup, tables, *_ = bench.report.children
    speed = [
        "Speed-up over plain decoding",
        "Results by kind of text, temperature 0.7",
    ]
    assert titles(bench.report) == speed and "db > target" in speedup.drawn["layout"]["yaxis"]["ticktext"]
    spelled = bench.report.children[3].value
    assert "lookup: baseline: prompt lookup decoding" in spelled and "Hierarchy Drafting (HD)" in spelled
    assert summary.spec["answer"] and "tables" not in summary.spec and "answer" not in tables.spec
    assert json.loads(json.dumps(tables.spec)) == tables.spec
    assert tables.spec["tables"][0]["head"][:2] == ["stack", "speed-up"]
    ablation = next(value for title, value in bench.choice.options if "orders" in title)
    bench.choice.value = ablation
    assert [title.partition(",")[0] for title in titles(bench.report)] == ["Results by kind of text"]
    report = (reports.FOLDERS[1] / "heldout-t1-cpu.json").read_bytes()
    bench.file._on_message(None, {"kind": "file", "name": "mine.json", "size": len(report)}, [memoryview(report)])
    assert bench.choice.value == "" and "temperature 1" in bench.report.children[0].spec["intro"][0]
    assert bench.notice.message == ""


def test_every_measurement_of_the_project_says_what_it_is_for_and_no_two_reports_are_named_alike(page):
    folder = reports.FOLDERS[1]
    purposes = reports.purposes_in(folder)
    assert set(purposes) == {path.name for path in folder.glob("*.json")}
    assert len(set(purposes.values())) == len(purposes)
    bench = section(page, "Benchmark")
    titles = [title for title, _ in bench.choice.options]
    assert len(set(titles)) == len(titles)
    bench.choice.value = str(folder / "python-t1-cpu.json")
    assert purposes["python-t1-cpu.json"] in said(bench.widget)
    assert reports.purposes_in(folder / "nowhere") == {}


def test_the_projects_measurements_are_installed_where_they_are_looked_for():
    root = Path(__file__).resolve().parents[2]
    wheel = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    measured, checkout = (str(folder.relative_to(root)) for folder in reports.FOLDERS)
    assert wheel["force-include"][checkout] == measured


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'{"stacks": 3}',
        b"\xff\xfe\x00",
        b'{"format": "hsd_viz ablation"}',
        b'{"stacks": [{}]}',
        b"[" * 100_000,
    ],
)
def test_a_broken_file_is_one_sentence_and_what_was_shown_stays(page, content):
    bench = section(page, "Benchmark")
    before = bench.report.children
    bench.file._on_message(None, {"kind": "file", "name": "broken.json", "size": len(content)}, [memoryview(content)])
    assert bench.notice.message == "broken.json is not a report of hsd-viz bench --json"
    assert bench.notice.details == "" and bench.report.children is before
    bench._on_choice(None)
    assert bench.notice.message == ""


def test_a_file_too_large_is_refused_on_either_side():
    errors, files = [], []
    opener = OpenFile(
        "Open", ".json", 10, lambda content, name: files.append(name), lambda error: errors.append(str(error))
    )
    opener._on_message(None, {"kind": "too large", "name": "a.json"}, [])
    opener._on_message(None, {"kind": "file", "name": "b.json"}, [memoryview(b"x" * 11)])
    opener._on_message(None, "nonsense", [])
    opener._on_message(None, {"kind": "unreadable", "name": "d.json"}, [])
    opener._on_message(None, {"kind": "file", "name": "c.json"}, [memoryview(b"x" * 10)])
    assert [e.split(" ")[0] for e in errors] == ["a.json", "b.json", "d.json"] and files == ["c.json"]


def test_tabs_open_what_is_chosen_and_show_what_goes_wrong():
    class Panel:
        def __init__(self, title, fails=False):
            self.title, self.widget, self.opened, self.fails = title, sections.widgets.VBox(), 0, fails

        def open(self):
            self.opened += 1
            if self.fails:
                raise RuntimeError("a wheel came off")

    panels = [Panel("One"), Panel("Two", fails=True), Panel("Three")]
    strip = tabs.Tabs(panels, "Look into it")
    assert strip.strip.titles == ["One", "Two", "Three"] and [p.opened for p in panels] == [0, 0, 0]
    strip.strip.selected = 1
    assert "a wheel came off" in strip.notice.message and panels[1].opened == 1
    strip.strip.selected = 2
    assert strip.notice.message == "" and [p.opened for p in panels] == [0, 1, 1]
    strip.strip.selected = 99
    assert strip.shown is panels[2]


def test_linked_views_follow_the_group_by_themselves():
    page = Page(make_trace())
    shown = section(page, "Round")
    (view,) = [w for w in all_in(shown.widget) if isinstance(w, views.RoundInspector)]
    assert view.group == "page" and view.data == {}
    page.trace = make_trace()
    shown.open()
    assert view in shown.widget.children, "it is kept"
