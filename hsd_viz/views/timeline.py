"""The timeline: every call of a run in its lane, by its own time, with the rounds it served and the time in which nothing ran."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm

#: The view's own scripts, in their order.
FILES = ("spans.js", "timeline_said.js", "timeline.js")


class Timeline(LinkedView):
    """Lanes for the levels and the databases, in the trace's own microseconds.

    ``Timeline(trace)`` stands by itself; linked to other views (:func:`hsd_viz.views.linked.link`) it follows their cursor, and a
    click on a bar moves theirs to its round. Drag or Page Up and Page Down move the time, plus and minus or Ctrl + wheel zoom. The
    *share* of a lane is its calls' own time over the time of the whole decode, reading the prompt included.
    """

    _esm = esm(*FILES)
    _css = css("timeline.css")
