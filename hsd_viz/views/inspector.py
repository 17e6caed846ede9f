"""The round inspector: the draft of the round under the cursor as a tree, each node's figures, the arithmetic of its verdict."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm

#: The view's own scripts, in their order.
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
    """One round in full: what was drafted, by whom, what the verifier made of it, and why.

    ``RoundInspector(trace)`` stands by itself; linked to other views (:func:`hsd_viz.views.linked.link`) it shows the round under
    their cursor, and a click on one of its nodes moves theirs. Rounds of the levels between are reached from the target's. Arrow
    keys walk the tree, Enter pins, Esc lets go.
    """

    _esm = esm(*FILES)
    _css = css("inspector.css")
