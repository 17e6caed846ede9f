"""Charts, tiles and words say what the trace says."""

from __future__ import annotations

import gzip
import json

from hsd_viz import figures as charts
from hsd_viz.views.view import PLOTLY_MIME, Chart, show_figure
from tests.views.make_trace import make_trace


def test_a_chart_holds_its_figure_in_both_themes_and_no_button_that_sends_it_away():
    chart = Chart(charts.by_source(make_trace()))
    assert "sendChartToCloud" in chart.config["modeBarButtonsToRemove"]
    assert chart.config["displaylogo"] is False
    meta = chart.drawn["layout"]["meta"]
    assert meta["title"] == "Tokens by source"
    assert chart.library == "cartesian"
    assert ["copying", "1 (33%)"] in meta["table"], "the same in words"
    for figure, page, other in (
        (chart.drawn, "#ffffff", "#17181a"),
        (chart.dark, "#17181a", "#ffffff"),
    ):
        assert f'"{page}"' in json.dumps(figure)
        assert f'"{other}"' not in json.dumps(figure)


def test_a_figure_of_others_is_shown_as_it_is_with_the_library_that_draws_it():
    import plotly.graph_objects as go

    sent = []
    chart = Chart(go.Figure(go.Scatter3d(x=[1], y=[1], z=[1], marker_color="#ffffff")))
    assert chart.library == "whole"
    assert chart.dark == {}

    def send(content, buffers):
        sent.append((content, buffers))

    chart.send = send
    for content in ({"kind": "other"}, {"kind": "library"}):
        chart._on_message(chart, content, [])
    ((content, (packed,)),) = sent
    assert content == {"kind": "library"}
    assert b"export default" in gzip.decompress(packed)[-60:]
    assert Chart(go.Figure(go.Violin(y=[1, 2]))).library == "cartesian"


def test_a_shown_figure_has_the_template_of_the_package_unless_it_has_its_own(monkeypatch):
    import plotly.graph_objects as go

    from hsd_viz.figures import template

    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    show_figure(go.Figure(go.Bar(x=[1], y=[2])).update_layout(title="Bars"))
    show_figure(go.Figure(go.Bar(x=[1], y=[2]), {"template": template(dark=True), "title": "Bars"}))
    show_figure(go.Figure(go.Pie(values=[1])).update_layout(title="Pie"))
    papers = [data[PLOTLY_MIME]["layout"]["template"]["layout"]["paper_bgcolor"] for data in shown]
    assert papers == ["#ffffff", template(dark=True).layout.paper_bgcolor, "#ffffff"]
