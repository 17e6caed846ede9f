"""Runs side by side as one page: race, texts, figures and all, as :class:`hsd_viz.views.Versus` shows them, to hand out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views.standalone_page import View, escaped, whole
from hsd_viz.views.versus import FILES, page_data
from hsd_viz.views.versus_data import refusal

_HOW = """<p><b>What is compared.</b> Runs of one prompt with one target, which decides every token. In plain decoding it spends a forward
on each. In the others small models or databases draft tokens ahead, and the target verifies a whole draft in one forward: it keeps what it
agrees with, puts its own token where it does not, and so needs fewer forwards to get as far.</p>
<p><b>Race.</b> Each lane is a run, as long as its text, on one clock, with the times that were recorded. A thin line begins a round, one
forward of the target. Space starts and stops the race; drag the slider, choose a speed.</p>
<p><b>Texts.</b> A column is a place of the text, a row a run. A colour says who proposed the token first. Underlined: accepted. A dashed
frame: the target’s own, where a draft was wrong (a correction). Dotted below: the target’s own after a draft that was all right (a bonus).
Brackets below are rounds, each with the number of forwards of the target spent so far.</p>
<p><b>Figures.</b> Each with its difference to the first run; point at a name to see what it means.</p>
<p><b>Keys.</b> ← → go from place to place, with Shift from round to round, ↑ ↓ from run to run; Enter keeps a place, Esc lets go.</p>"""


def page(traces: Sequence[Trace]) -> str:
    """The whole HTML of two or three runs. Raises ``ValueError`` with one sentence where they cannot lie side by side."""
    why = refusal(traces)
    if why:
        raise ValueError(why)
    return page_of(page_data(traces))


def page_of(data: dict[str, Any]) -> str:
    """The same of the ``data`` of a :class:`hsd_viz.views.Versus` that shows runs."""
    runs = data["runs"]
    names = "".join(
        f"<li><b>{escaped(r['letter'])}</b> <code>{escaped(r['stack'])}</code> {escaped(r['title'])}</li>" for r in runs
    )
    return whole(
        title=" · ".join(r["stack"] for r in runs),
        header=f'<header><p class="hsd-page-facts">Recorded runs, token by token</p><h1 class="hsd-page-words">One prompt, '
        f'{"two" if len(runs) == 2 else "three"} stacks</h1><ul class="hsd-page-runs">{names}</ul></header>',
        how=_HOW,
        body='<section><h2>Side by side</h2><div data-view="versus"></div></section>',
        footer="Recorded runs of speculative decoding, written by hsd_viz. Everything shown was measured in these runs and lies in this "
        "file; it asks the network for nothing.",
        data=data,
        views=[View("versus", FILES, "versus.css", {"refusal": "", "choices": [], "chosen": [], "pinned": -1})],
    )
