"""The round inspector: the draft tree of the cursor's round, with each node's figures and verdict."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm

#: The view's scripts, in order.
FILES = (
    "round.js",
    "round_residual.js",
    "round_said.js",
    "inspector_sums.js",
    "inspector_drawn.js",
    "inspector_card.js",
    "inspector_room.js",
    "inspector.js",
)


class RoundInspector(LinkedView):
    """One round in detail: draft tokens, their sources, verdicts and reasons.

    ``RoundInspector(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their
    cursor. Rounds of lower levels are reached from the target's. Arrow keys move in the tree, Enter pins, Esc unpins.
    """

    _esm = esm(*FILES)
    _css = css("inspector.css")
