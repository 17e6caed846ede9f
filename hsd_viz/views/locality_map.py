"""The map of temporal locality: where each token of a text stood before, and who drafted it."""

from __future__ import annotations

from typing import Any

import anywidget
import numpy as np
import traitlets

from hsd_viz.trace import Trace
from hsd_viz.views.drafting_bars import CSS
from hsd_viz.views.latency_sources import machine_words
from hsd_viz.views.palette import DATABASES, HUES, family, label
from hsd_viz.views.scripts import joined
from hsd_viz.words import counted

#: Runs are not told apart beyond this length.
LONGEST = 32


class LocalityMap(anywidget.AnyWidget):
    """A text against itself: a mark at (i, j) says that token i repeats the words that ended at the earlier token j.

    Coloured marks were drafted from there (by the trace's own record) and accepted; grey ones repeat a run of at least ``least`` tokens
    without having been copied. The row below the map has the source of every token. A slider of the page sets ``least``.
    """

    _esm = joined("dom.js", "figure.js", "locality_map.js")
    _css = CSS

    spec = traitlets.Dict().tag(sync=True)
    least = traitlets.Int(4).tag(sync=True)

    def __init__(self, trace: Trace, *, least: int = 4) -> None:
        if not trace.token_rows:
            raise ValueError("this trace emitted no token: there is nothing to map")
        if not 1 <= least <= LONGEST:
            raise ValueError(
                f"runs of at least {least} tokens is out of range: it is a whole number from 1 to {LONGEST}"
            )
        super().__init__(spec=_spec(trace), least=least)


def longest_repeats(ids: list[int]) -> list[tuple[int, int]]:
    """For each token (earlier place, length) of the longest run ending there that also ended at an earlier place; the latest such place.

    (-1, 0) where the token is new. Runs may overlap themselves and count up to :data:`LONGEST` tokens.
    """
    tokens = np.asarray(ids)
    before = np.zeros(len(tokens) + 1, int)  # [j + 1]: length of the run that ends at j and at the token before
    found = []
    for i in range(len(tokens)):
        now = np.zeros_like(before)
        now[1 : i + 1] = np.where(tokens[:i] == tokens[i], np.minimum(before[:i] + 1, LONGEST), 0)
        most = int(now.max())
        found.append((int(np.flatnonzero(now == most)[-1]) - 1, most) if most else (-1, 0))
        before = now
    return found


def copied_from(trace: Trace) -> list[int]:
    """For each emitted token the place in the text that its accepted draft was copied from, -1 where there is none."""
    target = {r.id for r in trace.round_rows if r.parent is None}
    places = {
        (d.round, d.depth, d.token_id): d.position
        for d in trace.draft_rows
        if d.round in target and d.verdict == "accepted" and d.position is not None
    }
    return [places.get((t.round, t.depth, t.token_id), -1) if t.kind == "accepted" else -1 for t in trace.token_rows]


def _spec(trace: Trace) -> dict[str, Any]:
    prompt = list(trace.meta["prompt_ids"])
    ids = [*prompt, *trace.token_ids]
    sources = [t.source for t in trace.token_rows]
    names = sorted(
        set(sources), key=lambda s: (s == "target", DATABASES.index(s) if s in DATABASES else len(DATABASES), s)
    )
    hues = {}
    for name in dict.fromkeys([*names, "target"]):
        hue = HUES[family(name)]
        words = "target, its own tokens" if name == "target" else label(name)
        hues[name] = {"label": words, "light": hue.light, "dark": hue.dark} | (
            {"own": True} if name == "target" else {}
        )
    return {
        "title": "Where the text repeats itself",
        "prompt": len(prompt),
        "ids": ids,
        "pieces": [*(trace.pieces.get(t, f"#{t}") for t in prompt), *(t.text for t in trace.token_rows)],
        "sources": ["prompt"] * len(prompt) + sources,
        "again": [list(pair) for pair in longest_repeats(ids)],
        "copied": [-1] * len(prompt) + copied_from(trace),
        "hues": hues,
        "text": "Read it from left to right, as the text was written. A mark stands above a token, at the height of the earlier place "
        "whose words it repeats. Slanted lines are whole passages that come again; the nearer to the diagonal, the more recent the "
        "place, and that is temporal locality. Coloured marks were drafted from that place and accepted. The row at the foot has the "
        "source of every token.",
        "source": f"{trace.meta.get('stack_resolved') or trace.meta['stack']} on {machine_words(trace)}; "
        f"{counted(len(prompt), 'token')} of prompt, {len(sources)} written.",
    }
