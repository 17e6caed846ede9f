"""Access patterns: the databases that drafted in each target round, with accepted tokens and text length."""

from __future__ import annotations

from hsd_viz.views.linked import LinkedView, css, esm


class Access(LinkedView):
    """Show a lane for each database or baseline that drafted, and a column for each target round.

    ``Access(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor.
    Drafted and accepted tokens are counted at the first verifier. The lowest lane is the context length in tokens.
    """

    _esm = esm("access.js")
    _css = css("access.css")
