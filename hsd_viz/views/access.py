"""Access patterns: in each round of the target, which database answered and what came of it, above the growth of the text."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class Access(LinkedView):
    """A lane for every database or other look-up that drafted, a column for every round of the target.

    ``Access(trace)`` stands by itself; linked to other views (:func:`hsd_viz.views.linked.link`) it follows their cursor and moves it.
    Drafted and accepted are counted where a draft is verified first. The lowest lane is the context in tokens.
    """

    _esm = esm("access.js")
    _css = css("access.css")
