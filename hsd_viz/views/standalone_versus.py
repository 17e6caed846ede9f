"""Export a :class:`hsd_viz.views.Versus` comparison as a self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views.standalone_page import escaped, whole
from hsd_viz.views.versus import page_data
from hsd_viz.views.versus_data import refusal

_HOW = """<p><b>Runs.</b> All runs have one prompt and one target model. Plain decoding needs one target forward pass
per token. With drafts from small models or databases, the target verifies several tokens in one forward pass, so it
needs fewer.</p>
<p><b>Race.</b> Each lane is a run, with recorded times on one clock. A thin line starts a round, one target forward
pass. Space starts and pauses the race.</p>
<p><b>Texts.</b> A column is an output position, a row a run. Colour: the source that proposed the token first.
Underlined: accepted. Dashed frame: correction. Dotted underline: bonus. Brackets are rounds, with the target forward
passes so far.</p>
<p><b>Round.</b> Below the texts: the round under the cursor, of the run that it is in.</p>
<p><b>Figures.</b> Each with its difference to the first run; hover over a name for its definition.</p>
<p><b>Keys.</b> ← → move by position, with Shift by round, ↑ ↓ by run; Enter pins, Esc unpins.</p>"""


def page(traces: Sequence[Trace]) -> str:
    """Return the page of two or three runs as HTML. Raises: ValueError: if they cannot be compared."""
    why = refusal(traces)
    if why:
        raise ValueError(why)
    return page_of(page_data(traces))


def page_of(data: dict[str, Any]) -> str:
    """Return the page of a :class:`hsd_viz.views.Versus`'s ``data`` as HTML."""
    runs = data["runs"]
    names = "".join(
        f"<li><b>{escaped(r['letter'])}</b> <code>{escaped(r['stack'])}</code> {escaped(r['title'])}</li>" for r in runs
    )
    return whole(
        title=" · ".join(r["stack"] for r in runs),
        header=f'<header><p class="hsd-page-facts">Recorded runs</p><h1 class="hsd-page-words">One prompt, '
        f'{"two" if len(runs) == 2 else "three"} stacks</h1><ul class="hsd-page-runs">{names}</ul></header>',
        how=_HOW,
        body='<section><h2>Comparison</h2><div data-view="versus"></div></section>',
        footer="Recorded runs of speculative decoding, exported by hsd_viz. All values were measured in these runs. "
        "This page makes no "
        "network requests.",
        data=data,
        states={"versus": {"refusal": "", "choices": [], "chosen": [], "pinned": -1, "link": "page"}},
    )
