"""The cursor's round in a chart that plotly draws, round by round."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class ChartMark(LinkedView):
    """A band over the round under the cursor, in the first chart of the ``hsd-charts`` box that this view stands in.

    The chart's first trace must have one point a target round, at x = 1, 2, 3, … A pointer over a round previews it, a click pins it, as
    in every linked view. The band follows the cursor in the browser: nothing is drawn anew.
    """

    _esm = esm("chart_mark.js")
    _css = css("chart_mark.css")
