"""The form that all figures share: themes, words, files, and no network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import hsd_viz as hsd
from hsd_viz import figures
from hsd_viz.figures import theme
from hsd_viz.figures.bars import bars
from hsd_viz.figures.palette import INKS, TWINS
from hsd_viz.latency.basis import recorded
from hsd_viz.trace import Trace
from tests.changes import channels, contrast
from tests.figures.test_semantic_figure import trace_of_rounds

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"
ABLATION, REPORT, PLAN = (
    BENCH / f"{name}.json" for name in ("ablation", "heldout-greedy-cpu", "plan-greedy-cpu")
)
NAMES = sorted(set(figures.__all__) - {"save", "template", "dark_of"})


@pytest.fixture(scope="module")
def trace() -> Trace:
    return hsd.load_bundled("both")


@pytest.fixture(scope="module")
def basis():
    return recorded()


def make(name: str, trace, basis, dark: bool = False):
    """Return the figure of each public function."""
    special = {
        "ranking": lambda f: f(PLAN, dark),
        "levels": lambda f: f(trace, None, dark),
        "prediction": lambda f: f(
            hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.8, batch=(1, 8)), dark
        ),
        "when_it_pays": lambda f: f(dark=dark),
        "of_result": lambda f: f(
            hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.8), dark
        ),
        "findable": lambda f: f(trace_of_rounds([1, 2, 1], (2, True), (1, False)), dark),
        **{
            name: (lambda f: f(ABLATION, dark))
            for name in ("database_ablation", "temperature_curves")
        },
        **{name: (lambda f: f(REPORT, dark)) for name in ("by_category", "speedup")},
    }
    function = getattr(figures, name)
    return special[name](function) if name in special else function(trace, dark)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_one_form_in_both_themes(name, trace, basis):
    for dark in (False, True):
        drawn = make(name, trace, basis, dark)
        layout = json.loads(drawn.to_json())["layout"]
        meta = layout["meta"]
        assert layout["title"]["text"]
        assert meta["title"]
        assert meta["head"] >= 44
        assert layout["template"]["layout"]["paper_bgcolor"] == INKS[dark].page
        assert "sendChartToCloud" in layout["template"]["layout"]["modebar"]["remove"]
        assert layout["xaxis"]["title"]["text"], "an axis names what its numbers count"
        # Hover text is written for people, or there is none; a page reads lists.
        for data in drawn.data:
            assert data.hovertemplate or data.hoverinfo == "skip", data.name
        assert all(isinstance(data.get("x", []), list) for data in theme.data_of(drawn)["data"])
        # All values are in the table.
        head, *rows = meta["table"]
        assert rows
        for row in rows:
            assert len(row) == len(head)
        text = json.dumps(theme.data_of(drawn) | {"layout": {**layout, "template": None}})
        other = (
            {light for light, night in TWINS.items() if light not in TWINS.values()}
            if dark
            else set()
        )
        assert not [colour for colour in other if f'"{colour}"' in text], (
            "a colour of the light page"
        )


def test_one_line_per_function_is_in_the_package_description():
    for name in (*NAMES, "save"):
        assert f":func:`{name}`" in figures.__doc__


def test_figures_need_no_torch_and_no_network():
    program = """
import socket, sys
def refuse(*args): raise AssertionError("a network request")
socket.socket.connect = socket.create_connection = refuse
import hsd_viz as hsd
trace = hsd.load_bundled("both")
html = hsd.figures.acceptance(trace).to_html(include_plotlyjs=True)
for name in ("by_source", "levels"): getattr(hsd.figures, name)(trace)
assert not {"torch", "transformers"} & set(sys.modules)
assert "<script src=" not in html and "<link" not in html
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_marks_can_be_read(dark, trace):
    inks = INKS[dark]
    bars = []
    for bar in figures.by_source(trace, dark).data:
        if bar.type == "bar":
            bars.append(bar.marker.line.color)
    for colour in (inks.text, inks.muted, inks.accent, inks.loss, *bars):
        assert contrast(channels(colour), channels(inks.page)) >= 4.5, colour


def test_text_of_others_cannot_be_read_as_markup():
    rows = pd.DataFrame(
        {"<u>what</u>": ["<b>a</b> > b"], "group": ["<u>g</u>"], "<i>n</i>": ["<1>"]}
    )
    parts = pd.DataFrame({"row": [0], "part": ["<i>x</i>"], "value": [1.0]})
    drawn = bars(rows, parts, "<title>", "<unit>", note="<note>")
    texts = [
        *drawn.layout.yaxis.ticktext,
        *drawn.data[0].customdata,
        *drawn.data[1].text,
        drawn.layout.title.text,
    ]
    texts += [drawn.layout.title.subtitle.text, drawn.layout.xaxis.title.text]
    for text in texts:
        assert not re.search(r"<(?!br>|b>&lt;|/b>$)", text)


def test_a_figure_is_saved_by_its_ending(trace, tmp_path, monkeypatch):
    drawn = figures.by_source(trace)
    text = drawn.save(tmp_path / "x.html").read_text()
    assert "Tokens by source" in text
    assert "<script src=" not in text
    with pytest.raises(ValueError, match=r"\.html, \.svg, \.png or \.pdf"):
        figures.save(drawn, tmp_path / "x.gif")
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(
        RuntimeError, match=r"is not a program: SVG, PNG and PDF files need one"
    ) as error:
        figures.save(drawn, tmp_path / "x.png")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "x.png").exists()
