"""The cursor's round in a plotly chart over rounds."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class ChartMark(LinkedView):
    """Mark the cursor's round in the first chart of the enclosing ``hsd-charts`` box.

    The chart's first trace must have one point per target round, at x = 1, 2, 3, … Hover previews a round, a click pins
    it. The mark follows the cursor in the browser without redrawing the chart.
    """

    _esm = esm("chart_mark.js")
    _css = css("chart_mark.css")
