"""The timeline: every call of a run in its level's lane, with rounds and idle time."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm

#: The view's scripts, in order.
FILES = ("spans.js", "timeline_said.js", "timeline.js")


class Timeline(LinkedView):
    """Lanes for levels and databases, with recorded times.

    ``Timeline(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor,
    and a click on a bar moves it to the bar's round. Drag, Page Up and Page Down pan; plus, minus and Ctrl + wheel
    zoom. A lane's *share* is its calls' time over the time of the whole decode, prefill included."""

    _esm = esm(*FILES)
    _css = css("timeline.css")
