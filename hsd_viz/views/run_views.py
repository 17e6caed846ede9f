"""Linked views of one run, drawn in the browser: access patterns, player, round inspector, timeline."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView
from hsd_viz.views.scripts import STATIC


class Access(LinkedView):
    """Show a lane for each database or baseline that drafted, and a column for each target round.

    ``Access(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor.
    Drafted and accepted tokens are counted at the first verifier. The lowest lane is the context length in tokens.
    """

    _esm = STATIC / "access.js"
    _css = STATIC / "access.css"


class ChartMark(LinkedView):
    """Mark the cursor's round in the first plotly chart of the enclosing ``hsd-charts`` box.

    The chart's first trace must have one point per target round, at x = 1, 2, 3, … Hover previews a round, a click pins
    it. The mark follows the cursor in the browser without redrawing the chart.
    """

    _esm = STATIC / "chart_mark.js"
    _css = STATIC / "chart_mark.css"


class Player(LinkedView):
    """Show all events of a run on a scrub bar: emitted tokens in colour, rejected ones low, gaps at rounds.

    Dragging, stepping and playing move the group's cursor and dim the text after it until Esc.
    ``Player(group=stream.group)`` plays the trace of a token stream; nothing is decoded.
    """

    _esm = STATIC / "player.js"
    _css = STATIC / "player.css"


class RoundInspector(LinkedView):
    """Show one round in detail: draft tokens, their sources, verdicts and reasons.

    ``RoundInspector(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their
    cursor. Rounds of lower levels are reached from the target's. Arrow keys move in the tree, Enter pins, Esc unpins.
    """

    _esm = STATIC / "inspector.js"
    _css = STATIC / "inspector.css"


class Rounds(LinkedView):
    """Show all rounds on one strip, with a filter, and the sums of selected rounds beside those of the run.

    ``Rounds(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor.
    Dragging over the strip selects rounds (``view.selection`` has their tokens); Shift + arrow keys then go through the
    rounds that the filter keeps.
    """

    _esm = STATIC / "rounds.js"
    _css = STATIC / "rounds.css"


class Timeline(LinkedView):
    """Show lanes of calls for levels and databases, with recorded times.

    ``Timeline(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor,
    and a click on a bar moves it to the bar's round. Drag, Page Up and Page Down pan; plus, minus and Ctrl + wheel
    zoom. A lane's *share* is its calls' time over the time of the whole decode, prefill included.
    """

    _esm = STATIC / "timeline.js"
    _css = STATIC / "timeline.css"
