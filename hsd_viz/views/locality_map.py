"""The temporal-locality map: earlier occurrences of each token, and their draft sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from hsd_viz.calibration.basis import machine_words
from hsd_viz.figures.palette import in_order, key_of
from hsd_viz.trace import Trace
from hsd_viz.views.doors import Given, View, trace_of
from hsd_viz.words import counted

#: Maximum repeat length.
LONGEST = 32


class LocalityMap(View):
    """A dot plot of a text against itself: a mark at (i, j) means token i repeats the text ending at the earlier token
    j.

    Coloured marks were drafted from there and accepted; grey ones repeat at least ``least`` tokens (set by a slider)
    without being copied. The row below the map has the source of every token.
    """

    view = traitlets.Unicode("locality_map").tag(sync=True)

    spec = traitlets.Dict().tag(sync=True)
    least = traitlets.Int(4).tag(sync=True)

    def __init__(self, trace: Given, *, least: int = 4) -> None:
        trace = trace_of(trace)
        if not len(trace):
            raise ValueError("the trace has no emitted tokens")
        if not 1 <= least <= LONGEST:
            raise ValueError(f"least={least} is out of range: use a whole number from 1 to {LONGEST}")
        super().__init__(spec=_spec(trace), least=least)


def longest_repeats(ids: list[int]) -> list[tuple[int, int]]:
    """Return (earlier position, length) of each token's longest repeat, the latest position on ties; (-1, 0) for new
    tokens.

    Repeats may overlap; lengths are capped at :data:`LONGEST`.
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
    """Return for each emitted token the position its accepted draft was copied from, or -1."""
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
    hues: dict[str, Any] = {name: key_of(name) for name in in_order(sources)}
    hues["target"] = key_of("target") | {"label": "target's own tokens", "own": True}
    return {
        "title": "Temporal locality of the text",
        "prompt": len(prompt),
        "ids": ids,
        "pieces": [*(trace.pieces.get(t, f"#{t}") for t in prompt), *(t.text for t in trace.token_rows)],
        "sources": ["prompt"] * len(prompt) + sources,
        "again": [list(pair) for pair in longest_repeats(ids)],
        "copied": [-1] * len(prompt) + copied_from(trace),
        "hues": hues,
        "text": "Left to right: the text in order. A mark above a token is at the earlier position that it repeats. "
        "Slanted lines "
        "are repeated passages; closer to the diagonal is more recent. Coloured marks were drafted from there and "
        "accepted. The bottom row has the source of each token.",
        "source": f"{trace.stack} on {machine_words(trace)}; "
        f"{counted(len(prompt), 'token')} of prompt, {len(sources)} emitted.",
    }
