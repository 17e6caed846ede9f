"""Tabs of other packages."""

from __future__ import annotations

import importlib.metadata
import re
import threading
from pathlib import Path

import ipywidgets
import pytest

import hsd_viz as hsd
from hsd_viz.views import view as view_module
from tests.patience import PATIENCE
from tests.views.fake_page import Page, parts

DOCS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "figures.md"
EXAMPLE = re.search(r"```python\n(import anywidget.*?)```", DOCS.read_text(encoding="utf-8"), re.S)[
    1
]


@pytest.fixture
def tab(monkeypatch):
    names = []

    def add(name, cls):
        names.append(name)
        hsd.views.register(name, cls)
        page = Page(monkeypatch)
        page.ask("recording", name="both")
        return page

    yield add
    for name in names:
        hsd.views.unregister(name)


def test_the_example_of_the_documentation_is_a_tab_of_the_run_shown(tab):
    assert len(EXAMPLE.splitlines()) <= 42
    made = {}
    exec(EXAMPLE.replace("hsd.dashboard()", "page = hsd.dashboard()"), made)
    try:
        assert made["page"].about["tabs"][-2:] == ["Entropy", "Tokens by source"]
    finally:
        hsd.views.unregister("Tokens by source")
    page = tab("Entropy", made["Entropy"])
    (part,) = parts(page, "Entropy", "both")
    widget = page.app._widget
    assert part == {"kind": "widget", "model": widget.model_id}
    assert len(widget.tokens) == 128
    parts(page, "Entropy", "both")
    assert widget.comm is None, "the view of the run before is closed"


def test_of_overlapping_tabs_only_one_widget_stays_open(tab):
    both_started = threading.Barrier(2, timeout=PATIENCE)
    made = []

    def view(_trace):
        widget = ipywidgets.HTML()
        made.append(widget)
        both_started.wait()
        return widget

    page = tab("Both", view)
    for key in ("first", "second"):
        page.send("ask", key=key, about="Both", run="both")
    for key in ("first", "second"):
        page.wait("done", key)
    (left,) = (widget for widget in made if widget.comm is not None)
    assert left is page.app._widget


def test_a_tab_can_be_a_figure_and_one_that_fails_says_so(tab):
    assert parts(tab("Sources", hsd.figures.by_source), "Sources", "both")[0]["kind"] == "figure"

    def broken(_trace):
        raise KeyError("entropy")

    message, _ = tab("Broken", broken).ask("ask", about="Broken", run="both")
    assert "the view 'Broken' failed: KeyError: 'entropy'" in message["message"]
    assert not message["details"]
    message, _ = tab("Text", lambda _trace: "text").ask("ask", about="Text", run="both")
    assert "not str" in message["message"]


def test_names_and_classes_of_tabs_are_checked(monkeypatch):
    with pytest.raises(ValueError, match="invalid name"):
        hsd.views.register(" ", hsd.figures.by_source)
    with pytest.raises(TypeError, match="cannot be registered"):
        hsd.views.register("x", 3)
    assert "x" not in view_module.registered()
    point = importlib.metadata.EntryPoint("Sources", "hsd_viz.figures:by_source", view_module.GROUP)
    gone = importlib.metadata.EntryPoint("Gone", "no_such_package:View", view_module.GROUP)
    monkeypatch.setattr(
        view_module, "entry_points", lambda group: [point, gone] if group == "hsd_viz.views" else []
    )
    page = Page(monkeypatch)
    page.ask("recording", name="both")
    assert parts(page, "Sources", "both")[0]["kind"] == "figure"
    assert "ModuleNotFoundError" in page.ask("ask", about="Gone", run="both")[0]["message"]
