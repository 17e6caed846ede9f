"""The player: a scrub bar over a run's events, with buttons to step and play."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class Player(LinkedView):
    """A bar of all events of a run: emitted tokens at full height in their source's colour, rejected ones low, a gap
    per round.

    Dragging, stepping and playing move the group's cursor and dim the text after it until Esc.
    ``Player(group=stream.group)`` plays the trace of a token stream; nothing is decoded."""

    _esm = esm("player.js")
    _css = css("player.css")
