"""Charts of the lessons."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
import pytest

from hsd_viz.figures.charts import INK, MIN_WIDTH, Figure, in_common_form
from hsd_viz.figures.lessons import (
    break_even,
    intervals,
    lines,
    ordered_bars,
    probabilities,
    with_slider,
)
from hsd_viz.figures.palette import HUES, pale
from hsd_viz.figures.theme import dark_of


def drawn_lines() -> Figure:
    series = {"a": {1: 1.0, 16: 5.0}, "b": {1: 1.0, 16: 5.1}, "c": {1: 1.0, 8: 1.2}}
    return lines(series, "three lines", x="tokens", y="cost", dashed=["c"])


def test_each_line_has_its_name_at_its_end_and_a_computed_one_has_no_points():
    figure = drawn_lines()

    ends = {note.text: (note.x, note.y) for note in figure.layout.annotations}
    assert ends == {"a": (16, 5.0), "b": (16, 5.1), "c": (8, 1.2)}
    assert [line.mode for line in figure.data] == ["lines+markers", "lines+markers", "lines"]


def test_the_names_of_lines_that_end_together_are_apart():
    shifts = {note.text: note.yshift for note in drawn_lines().layout.annotations}

    assert shifts["a"] == 0
    # 0.1 of 5.406 on a plot of 240 pixels is 4.4 pixels.
    assert shifts["b"] == pytest.approx(17 - 240 * 0.1 / (1.06 * 5.1))


def test_bars_with_intervals_are_in_the_order_of_their_values():
    frame = pd.DataFrame(
        {"value": [1.2, 1.5], "low": [1.1, 1.4], "high": [1.3, 1.6]}, index=["qa", "rag"]
    )

    figure = intervals(frame, "by task", "tokens per pass")

    table = figure.layout.meta["table"]
    assert table[1:] == [["rag", "1.50", "1.40 to 1.60"], ["qa", "1.20", "1.10 to 1.30"]]


def test_stacks_have_the_names_of_their_drafters_and_equal_names_differ():
    values = {"value": [1.3, 1.2, 1.1], "low": [1.2, 1.1, 1.0], "high": [1.4, 1.3, 1.2]}
    frame = pd.DataFrame(values, index=["db > target", "nano:1 > target", "nano:2 > target"])

    figure = intervals(frame, "by stack", "speed", stacks=True)

    labels = [row[0] for row in figure.layout.meta["table"][1:]]
    assert labels == ["databases", "nano:1", "nano:2"]


def test_a_map_of_speeds_has_as_much_scale_below_1_as_above():
    figure = break_even([0.0, 0.5], [1, 2], [[0.5, 1.0], [1.0, 4.0]], [0.2, 0.3], "m", x="α", y="γ")

    heat, line = figure.data
    assert (heat.zmin, heat.zmax) == (-2.0, 2.0)
    assert list(line.x) == [0.2, 0.3]
    assert [note.text for note in figure.layout.annotations] == ["break-even, 1 ×"]
    dark = dark_of(figure)
    assert dark.data[0].colorscale[1][1] != heat.colorscale[1][1]


def drawn_probabilities(drafted: float) -> Figure:
    parts = {"accepted": [min(0.3, drafted), 0.4], "residual": [max(0.0, 0.3 - drafted), 0.3]}
    outline = {"q": [drafted, 1 - drafted]}
    words = f"q = {drafted:g}"
    return probabilities(["a", "b"], parts, outline, "p", words=words, highest=drafted)


def test_parts_of_a_probability_have_the_colours_of_the_dart_board():
    figure = drawn_probabilities(0.5)

    accepted, residual, outline = figure.data
    assert accepted.marker.color == HUES["nano"].light
    assert residual.marker.color == pale(INK.muted)
    assert outline.line.dash == "dash"
    assert list(outline.y[:4]) == [0.0, 0.5, 0.5, 0.0]


def test_a_slider_moves_the_values_and_the_words_and_keeps_the_axis():
    figures = {"0.1": drawn_probabilities(0.1), "0.5": drawn_probabilities(0.5)}

    figure = with_slider(figures, "q of a", opens="0.5")

    [slider] = figure.layout.sliders
    assert slider.active == 1
    assert figure.layout.meta["handle"] == figure.layout.height - figures["0.5"].layout.height
    assert figure.layout.yaxis.range == (0, 1.05 * 0.5)
    first, _ = slider.steps
    values, layout = first.args
    assert values["y"][0] == [0.1, 0.4]
    assert [note["text"] for note in layout["annotations"]] == ["q = 0.1"]


def test_bars_for_a_slider_keep_their_order_and_write_their_intervals():
    frame = pd.DataFrame(
        {"value": [0.8, 1.2], "low": [0.7, 1.1], "high": [0.9, 1.3]}, index=["slow", "fast"]
    )

    figure = ordered_bars(frame, "speeds", unit="speed", end=1.5, words="one is faster")

    bars, spans, values = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["slow", "fast"]
    assert list(bars.x) == [0.8, 1.2]
    assert list(spans.x) == [0.7, 0.9, None, 1.1, 1.3, None]
    assert list(values.text) == ["0.80, 0.70 to 0.90", "1.20, 1.10 to 1.30"]
    assert [line.x0 for line in figure.layout.shapes] == [1]
    assert [note.text for note in figure.layout.annotations] == ["one is faster"]


def test_bars_without_intervals_have_their_values_only():
    figure = ordered_bars(pd.DataFrame({"value": [1.25]}, index=["a"]), "t", unit="u", end=2)

    _, values = figure.data
    assert list(values.text) == ["1.25"]
    assert not figure.layout.annotations


def test_a_line_of_a_source_has_its_colour():
    series = {HUES["context"].label: {1: 1.0, 2: 1.5}, "other": {1: 1.0, 2: 1.2}}

    source, other = lines(series, "two lines", x="budget", y="speed").data

    assert source.line.color == HUES["context"].light
    assert other.line.color not in {hue.light for hue in HUES.values() if hue != HUES["target"]}


def test_a_figure_of_plotlys_template_gets_the_common_form_and_another_stays():
    plain = go.Figure(go.Bar(x=[1], y=[2])).update_layout(title="t", height=250)

    figure = in_common_form(plain)

    assert figure.layout.meta["title"] == "t"
    assert figure.layout.meta["least"] == MIN_WIDTH
    assert figure.layout.template.layout.title.x == 0
    assert in_common_form(figure) is figure
    other = go.Figure(layout={"template": "plotly_dark"})
    assert in_common_form(other) is other
