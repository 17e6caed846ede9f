"""The numbers of figures are those of traces, reports and the law; the form is one for all."""

from __future__ import annotations

import functools
import json
import operator
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import hsd_viz as hsd
from hsd_viz import figures
from hsd_viz.calibration.basis import level_use
from hsd_viz.engine.replay import recorded
from hsd_viz.figures import bars, run, style
from hsd_viz.figures.latency_whatif import one_draft
from hsd_viz.latency.law import Law
from hsd_viz.latency.select import surface
from hsd_viz.trace import Trace

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"
ABLATION, REPORT, PLAN = (BENCH / f"{name}.json" for name in ("ablation", "heldout-greedy-cpu", "plan-greedy-cpu"))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return hsd.load_bundled("both")


@pytest.fixture(scope="module")
def basis():
    return recorded()


def make(name: str, trace, basis, dark: bool = False):
    """Return the figure of each public function."""
    special = {
        "latency_surface": lambda f: f(basis, "nano > small > target", dark),
        "ranking": lambda f: f(PLAN, dark),
        "what_if_one_draft": lambda f: f(0.7, 0.15, dark),
        "levels": lambda f: f(trace, None, dark),
        "prediction": lambda f: f(hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.8), dark),
        "replayed": lambda f: f(_replayed(trace), dark),
        **{name: (lambda f: f(ABLATION, dark)) for name in ("database_ablation", "temperature_curves")},
        **{name: (lambda f: f(REPORT, dark)) for name in ("by_category", "speedup")},
    }
    function = getattr(figures, name)
    return special[name](function) if name in special else function(trace, dark)


def _replayed(trace: Trace):
    """The report of a log with the text of a run."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text(json.dumps({"prompt_ids": trace.meta["prompt_ids"], "output_ids": trace.token_ids}))
        return hsd.replay(log, drafters=("lookup", "suffix"))


NAMES = sorted(set(figures.__all__) - {"save", "template"})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_one_form(name, dark, trace, basis):
    drawn = make(name, trace, basis, dark)
    layout = json.loads(drawn.to_json())["layout"]
    assert layout["title"]["text"] and layout["meta"]["title"] and len(layout["meta"]["description"]) > 20
    assert layout["template"]["layout"]["paper_bgcolor"] == style.INKS[dark][3]
    assert "sendChartToCloud" in layout["template"]["layout"]["modebar"]["remove"]
    # Each subplot names what its numbers count, or shares the scale of the one below it.
    shown = [axis for key, axis in layout.items() if key.startswith("xaxis") and axis.get("visible", True)]
    assert shown[-1]["title"]["text"]
    scales = {json.dumps(axis.get("range")) for axis in shown}
    assert len(scales) == 1 or sum("title" in axis for axis in shown) >= len(scales)
    # Hover text is written for people, or there is none.
    for data in drawn.data:
        assert data.hovertemplate or data.hoverinfo == "skip", data.name
        assert "undefined" not in str(data.hovertemplate)


@pytest.mark.parametrize("name", NAMES)
def test_a_light_figure_becomes_the_dark_one(name, trace, basis):
    light, dark = (json.loads(make(name, trace, basis, theme).to_json()) for theme in (False, True))
    changes = list(style.darkened(light))
    for (*outer, last), value in changes:
        functools.reduce(operator.getitem, outer, light)[last] = value
    assert light == dark and changes


def test_one_line_per_function_is_in_the_package_description():
    assert all(f":func:`{name}`" in figures.__doc__ for name in (*NAMES, "save"))


def test_figures_need_no_torch_and_no_network():
    program = """
import socket, sys
def refuse(*args): raise AssertionError("a network request")
socket.socket.connect = socket.create_connection = refuse
import hsd_viz as hsd
trace = hsd.load_bundled("both")
html = hsd.figures.acceptance(trace).to_html(include_plotlyjs=True)
for name in ("acceptance_by_position", "throughput", "levels", "drafters_alone"): getattr(hsd.figures, name)(trace)
assert not {"torch", "transformers"} & set(sys.modules)
assert "<script src=" not in html and "<link" not in html
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def channels(colour: str) -> list[float]:
    values = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(np.dot(channels(c), (0.2126, 0.7152, 0.0722))) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_marks_can_be_read(dark, trace):
    ink, muted, _, page, accent, loss = style.INKS[dark]
    assert all(contrast(colour, page) >= 4.5 for colour in (ink, muted, accent, loss))
    for bar in figures.acceptance_by_source(trace, dark).data:
        if bar.type == "bar":
            assert contrast(bar.marker.line.color, page) >= 4.5, bar.name


def test_verdicts_have_patterns_of_their_own(trace):
    shapes = {b.name: b.marker.pattern.shape for b in figures.acceptance_by_source(trace).data if b.type == "bar"}
    assert shapes["rejected"] == "/" and shapes["not examined"] == "."
    assert shapes["context database"] is None


# --- one run ----------------------------------------------------------------------------------------------------------


def total(drawn, names=None) -> float:
    return sum(sum(b.x) for b in drawn.data if b.type == "bar" and (names is None or b.name in names))


def test_acceptance_figures_add_up_to_the_metrics(trace):
    m = trace.metrics()
    (top,) = [level for level in m["levels"] if level["level"] == max(r.level for r in trace.round_rows)]
    sources = {"context database", "model database", "nano, draft model", "small, draft model"}
    for name in ("acceptance_by_position", "acceptance_by_source"):
        drawn = getattr(figures, name)(trace)
        assert total(drawn) == m["drafted"] and total(drawn, sources) == m["accepted"]
        # Level 1 verified, too, and has other numbers.
        lower = next(level for level in m["levels"] if level["level"] == 1)
        assert total(getattr(figures, name)(trace, level=1)) == lower["drafted"] != m["drafted"]
    histogram = figures.accepted_per_round(trace)
    (bar,) = [b for b in histogram.data if b.type == "bar"]
    counts = dict(zip(bar.y, bar.x, strict=True))
    assert [counts.get(k, 0) for k in range(len(top["accepted_histogram"]))] == top["accepted_histogram"]
    drafted, accepted, mean, _ = figures.acceptance(trace).data
    assert (sum(drafted.y), sum(accepted.y)) == (m["drafted"], m["accepted"])
    assert mean.y[-1] == pytest.approx(m["tokens"] / m["rounds"])
    (bar,) = figures.by_source(trace).data
    assert sum(bar.x) == m["tokens"]
    matched = [d for d in trace.draft_rows if d.level == top["level"] and d.key_length is not None]
    assert total(figures.acceptance_by_match(trace)) == len(matched) > 0


def test_times_add_up_to_the_decode(trace):
    m = trace.metrics()
    rows = run.time_rows(trace)
    assert sum(ms for *_, ms in rows) * m["tokens"] / 1e3 == pytest.approx(m["seconds"])
    (bar,) = figures.time_spent(trace).data
    assert list(bar.x) == [ms for *_, ms in rows]
    assert bar.y[0] == run.BETWEEN and not any("prefill" in name for name in bar.y)


def test_throughput_over_all_rounds_is_the_speed_of_the_decode(trace):
    m = trace.metrics()
    at, tokens, speed = run.throughput_points(trace, window=10_000)[-1]
    assert tokens == m["tokens"] and speed == pytest.approx(tokens / at)
    assert speed == pytest.approx(m["tokens_per_second"], rel=0.02)  # up to the end of the last round
    line, mean = figures.throughput(trace).data
    assert len(line.y) == m["rounds"] and mean.y[0] == pytest.approx(m["tokens_per_second"])
    with pytest.raises(ValueError, match="whole number from 1"):
        figures.throughput(trace, window=0)


def test_levels_are_those_of_the_trace(trace):
    drawn = figures.levels(trace)
    dots = [d for d in drawn.data if d.type == "scatter" and d.mode == "markers"]
    uses = level_use(trace)
    assert sorted(dots[0].x) == pytest.approx(sorted(u.forwards for u in uses))
    assert max(dots[1].x) == pytest.approx(sum(u.ms for u in uses))


def test_a_drafter_alone_emits_the_tokens_of_its_panel(trace):
    drawn = figures.drafters_alone(trace, budget=8)
    measured = next(b for b in drawn.data if b.name == "measured")
    assert measured.x[0] == pytest.approx(trace.metrics()["mean_acceptance_length"])
    with pytest.raises(ValueError, match="no emitted tokens"):
        figures.drafters_alone(Trace({"prompt_ids": []}))


def test_a_run_without_drafts_gives_a_figure_that_says_so():
    plain = hsd.load_bundled("plain")
    drawn = figures.acceptance_by_position(plain)
    assert not drawn.data and "No drafts" in drawn.layout.meta["description"]
    for name in ("acceptance", "by_source", "time_spent", "throughput"):
        getattr(figures, name)(Trace({}))
    with pytest.raises(ValueError, match="level 9 did not verify"):
        figures.acceptance_by_source(plain, level=9)


def test_traces_can_be_files(trace, tmp_path):
    path = tmp_path / "run.json.gz"
    trace.save(path)
    for given in (path, str(path)):
        assert figures.by_source(given).to_json() == figures.by_source(trace).to_json()
    with pytest.raises(TypeError, match="not int"):
        figures.by_source(3)


# --- the law ----------------------------------------------------------------------------------------------------------


def test_a_surface_shows_the_law_and_its_minimum(basis):
    drawn = figures.latency_surface(basis, "nano > small > target")
    values = surface("nano > small > target", basis.calibration)
    cells = drawn.data[0]
    assert np.exp(np.array(cells.z)) * values.min() == pytest.approx(values.T, rel=1e-3)
    star = next(d for d in drawn.data if d.name == "predicted minimum")
    assert values[star.x[0] - 1, star.y[0] - 1] == values.min()
    with pytest.raises(ValueError, match="two neighbouring draft models"):
        figures.latency_surface(basis, "nano > target")


def test_a_ranking_has_predictions_and_measurements(basis):
    drawn = figures.ranking(basis)
    bar, dots, _ = drawn.data
    stacks = [re.sub("<br>.*", "", text) for text in drawn.layout.yaxis.ticktext]
    law_ = Law(basis.calibration)
    predicted = {stack: law_.predict(stack).ms_per_token for stack in stacks}
    assert dict(zip(stacks, bar.x, strict=True)) == pytest.approx(predicted)
    assert sorted(dots.x) == pytest.approx(sorted(m.ms_per_token for s, m in basis.measured.items() if s in stacks))


def test_what_if_figures_are_the_law(basis):
    line = figures.what_if_one_draft(0.7, 0.15, slope=0.1).data[0]
    assert list(line.y) == pytest.approx(1 / one_draft(0.7, 0.15, slope=0.1), abs=1e-4)
    assert "nano" in figures.what_if_one_draft(basis=basis, draft="nano").layout.meta["words"] or basis.source
    with pytest.raises(ValueError, match="acceptance and cost, or basis and draft"):
        figures.what_if_one_draft()
    with pytest.raises(ValueError, match=r"acceptance=1\.5 is out of range"):
        figures.what_if_one_draft(1.5, 0.1)


# --- measurements -----------------------------------------------------------------------------------------------------


def test_speed_ups_are_those_of_the_report():
    stacks = {s["stack"]: s for s in json.loads(REPORT.read_text())["stacks"]}
    drawn = figures.speedup(REPORT)
    names = drawn.layout.yaxis.ticktext
    dots = next(d for d in drawn.data if d.type == "scatter" and d.mode == "markers")
    for name, value, up in zip(names, dots.x, dots.error_x.array, strict=True):
        assert value == stacks[name]["speedup_over_plain"]
        assert value + up == pytest.approx(stacks[name]["speedup_over_plain_ci"][1])
    category = next(iter(json.loads(REPORT.read_text())["suite"]["categories"]))
    assert figures.speedup(json.loads(REPORT.read_text()), category=category).data
    for given, words in [({}, "not a report"), (BENCH / "none.json", "cannot be read"), (ABLATION, "not a report")]:
        with pytest.raises(ValueError, match=words):
            figures.speedup(given)
    with pytest.raises(ValueError, match="no category 'x'"):
        figures.speedup(REPORT, category="x")


def test_bars_of_the_ablation_are_its_tokens_by_source():
    rows = {r["stack"]: r for r in json.loads(ABLATION.read_text())["rows"] if r["temperature"] == 0}
    drawn = figures.database_ablation(ABLATION)
    label = drawn.layout.yaxis.ticktext.index("context, model, statistics")
    row = rows["db[context,model,statistics] > target"]
    first = {b.name: dict(zip(b.y, b.x, strict=True)) for b in drawn.data if b.type == "bar" and b.yaxis == "y"}
    for source in ("context", "model", "statistics"):
        expected = row["accepted_by_source"][source] / row["target_forwards"]
        assert first[f"{source} database"][label] == pytest.approx(expected, abs=1e-3)


def test_text_of_others_cannot_be_read_as_markup():
    row = {"label": "<b>a</b> > b", "parts": [("k", 1.0, "<i>x</i>")], "value": "<1>"}
    group = {"title": "<u>t</u>", "unit": "tokens", "rows": [row]}
    key = {"label": "key", "light": "#000000", "dark": "#ffffff"}
    drawn = bars.stacked([group], {"k": key}, "<title>", "words", False)
    texts = [*drawn.layout.yaxis.ticktext, *drawn.data[0].customdata, *drawn.data[1].text, drawn.layout.title.text]
    texts += [a.text for a in drawn.layout.annotations]
    assert not any(re.search(r"<(?!br>)", text) for text in texts)


def test_a_static_notebook_shows_the_words_of_a_figure(trace, monkeypatch):
    import plotly.io as pio

    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    for name in ("by_source", "acceptance_by_source"):
        bundle = getattr(figures, name)(trace)._repr_mimebundle_()
        assert "application/vnd.plotly.v1+json" in bundle
        assert "context database" in bundle["text/html"] and "<script" not in bundle["text/html"]
    pio.renderers.default = "notebook"
    assert "<script" in figures.by_source(trace)._repr_mimebundle_()["text/html"], "plotly's own HTML comes first"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_figure_is_saved_as_a_page_without_links(trace, tmp_path):
    text = figures.save(figures.by_source(trace), tmp_path / "x.html").read_text()
    assert "Tokens by source" in text and "<script src=" not in text
    with pytest.raises(ValueError, match=r"\.html, \.svg or \.png"):
        figures.save(figures.by_source(trace), tmp_path / "x.pdf")


def test_without_a_browser_pictures_are_refused_in_one_line(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match=r"is not a program: SVG and PNG files need one") as error:
        figures.save(figures.by_source(trace), tmp_path / "x.png")
    assert "\n" not in str(error.value) and not (tmp_path / "x.png").exists()


@pytest.mark.browser
def test_a_figure_is_saved_as_svg_and_png(trace, tmp_path):
    try:
        figures.pictures.chromium()
    except RuntimeError as error:
        pytest.skip(str(error))
    drawn = figures.by_source(trace)
    svg = figures.save(drawn, tmp_path / "x.svg", width=700).read_text()
    assert svg.startswith("<svg") and "context database" in svg and 'width="700"' in svg
    png = figures.save(drawn, tmp_path / "x.png", width=700, scale=1).read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == 700
    assert int.from_bytes(png[20:24]) == drawn.layout.height
