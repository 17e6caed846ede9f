"""The player: a run's events on a bar to scrub over, with buttons to step through them and to play them from the trace."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class Player(LinkedView):
    """A bar of all events of a run: full height what was emitted, in the colour of its source, low what was rejected, a gap where a
    round begins. Dragging, stepping and playing move the cursor of the group, and its text counts up to there until Esc.

    ``Player(group=stream.group)`` plays what a token stream shows. Nothing is decoded: it plays the trace.
    """

    _esm = esm("player.js")
    _css = css("player.css")
