"""Figures as SVG without a browser."""

from __future__ import annotations

from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest

from hsd_viz.figures.svg import HEIGHT, WIDTH, svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(figure, **options):
    return ElementTree.fromstring(svg(figure, **options))


def all_of(root, tag, **wanted):
    return [e for e in root.iter(SVG + tag) if all(e.get(k.replace("_", "-")) == v for k, v in wanted.items())]


def texts(root):
    return [e.text for e in root.iter(SVG + "text")]


def test_points_of_a_line_keep_their_order_and_proportion():
    root = drawn(go.Figure(go.Scatter(x=[0, 1, 3], y=[0, 10, 30])))
    [line] = all_of(root, "polyline")
    (x0, y0), (x1, y1), (x3, y3) = ([float(v) for v in p.split(",")] for p in line.get("points").split())
    assert x3 - x0 == pytest.approx(3 * (x1 - x0), abs=0.3) and y0 - y3 == pytest.approx(3 * (y0 - y1), abs=0.3)
    assert len(all_of(root, "circle")) == 3


@pytest.mark.parametrize("mode", ["stack", "group"])
def test_bars_have_the_height_of_their_values(mode):
    bars = [go.Bar(name=n, x=["a", "b"], y=y) for n, y in {"one": [1, 2], "two": [3, 1]}.items()]
    root = drawn(go.Figure(bars).update_layout(barmode=mode, title="Bars & <all>"))
    boxes = [e for e in all_of(root, "rect") if float(e.get("width")) > 20 and e.get("width") != str(WIDTH)]
    tall = [float(e.get("height")) for e in boxes]
    assert [h / tall[0] for h in tall] == pytest.approx([1, 2, 3, 1], rel=0.01)
    if mode == "stack":
        below, above = boxes[0], boxes[2]
        assert float(above.get("y")) + float(above.get("height")) == pytest.approx(float(below.get("y")), abs=0.2)
    else:
        assert len({e.get("x") for e in boxes}) == 4
    assert {"Bars & <all>", "one", "two", "a", "b"} <= set(texts(root))


def test_everything_is_inside_the_picture():
    figure = go.Figure(go.Bar(x=[1, 2, 3], y=[5, 1, 4]))
    for box in all_of(drawn(figure), "rect"):
        assert float(box.get("x", 0)) >= 0 and float(box.get("x", 0)) + float(box.get("width")) <= WIDTH
        assert float(box.get("y", 0)) >= 0 and float(box.get("y", 0)) + float(box.get("height")) <= HEIGHT


def test_horizontal_bars_error_bars_second_axes_and_lines_are_drawn():
    sideways = drawn(
        go.Figure(go.Bar(x=[2, 1], y=["long name", "b"], orientation="h")).add_vline(x=1, line_dash="dash")
    )
    assert "long name" in texts(sideways) and len(all_of(sideways, "line", stroke_dasharray="7 5")) == 1
    error = {"array": [1, 1], "arrayminus": [0.5, 0.5]}
    points = drawn(go.Figure(go.Scatter(x=[2, 3], y=["a", "b"], error_x=error, mode="markers")))
    assert len(all_of(points, "line", stroke_width="2")) == 2 and not all_of(points, "polyline")
    two = go.Figure([go.Scatter(x=[1, 2], y=[1, 2]), go.Scatter(x=[1, 2], y=[0.1, 0.9], yaxis="y2")])
    two.update_layout(yaxis2={"title": "share", "tickformat": ".0%", "overlaying": "y", "side": "right"})
    assert "share" in texts(drawn(two)) and any(t.endswith("%") for t in texts(drawn(two)))


def test_a_heat_map_has_a_cell_per_value_and_its_scale():
    root = drawn(go.Figure(go.Heatmap(x=[1, 2, 3], y=[1, 2], z=[[0, 1, 2], [3, 4, 5]], colorbar_title="speed")))
    fills = [e.get("fill") for e in all_of(root, "rect")]
    assert fills.count("#440154") >= 1 and fills.count("#fde725") >= 1
    assert {"speed", "0", "5"} <= set(texts(root))


def test_colours_of_the_page_are_used_and_other_traces_are_refused():
    root = drawn(go.Figure(go.Bar(x=[1], y=[1])), ink="currentColor", paper="none")
    assert root.get("fill") == "currentColor" and next(root.iter(SVG + "rect")).get("fill") == "none"
    with pytest.raises(ValueError, match="a figure with pie cannot be drawn"):
        svg(go.Figure(go.Pie(values=[1, 2])))


def test_grouped_points_of_one_category_are_apart_and_their_intervals_with_them():
    error = {"array": [1], "arrayminus": [0.5]}
    traces = [go.Scatter(x=[n], y=["a"], error_x=error, mode="markers", orientation="h") for n in (2, 3)]
    heights = {}
    for mode in ("overlay", "group"):
        root = drawn(go.Figure(traces, layout={"scattermode": mode}))
        heights[mode] = [float(c.get("cy")) for c in all_of(root, "circle")]
        assert [float(e.get("y1")) for e in all_of(root, "line", stroke_width="2")] == heights[mode]
    assert heights["overlay"][0] == heights["overlay"][1] and heights["group"][0] > heights["group"][1]
