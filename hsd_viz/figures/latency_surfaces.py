"""Predicted latency over two lookaheads: cells, contours and marks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from hsd_viz.figures.latency_sources import Measured, basis_of
from hsd_viz.figures.planes import axis, heat, mark, round_step
from hsd_viz.figures.style import go
from hsd_viz.latency.affine import MOST, affine
from hsd_viz.latency.inputs import Calibration, LevelCost
from hsd_viz.latency.mixture import MixedLaw
from hsd_viz.latency.whatif import surface
from hsd_viz.stack import Model, Stack, parse

#: Approximate number of contours.
CONTOURS = 7
#: The heat scale ends at this multiple of the best.
SCALE_END = 2.5
#: A cost high enough to exclude a path.
_CLOSED = 1e9


def latency_surface(
    basis: Any,
    stack: Stack | str,
    dark: bool = False,
    *,
    measured: Mapping[str, Measured | float] | None = None,
    most: int = MOST,
    place: int = 0,
    source: str = "",
) -> go.Figure:
    """Plot predicted ms per token over the lookaheads of two neighbouring draft models of ``stack``. ``basis`` is a
    calibration, its file, a plan, or :func:`hsd_viz.views.recorded`. Marks: the predicted minimum, the quick selection,
    and ``measured`` ms per token by stack. Raises: ValueError: if there are no two such models.
    """
    basis = basis_of(basis, source)
    stack = parse(stack) if isinstance(stack, str) else stack
    if len(stack.drafts) < place + 2:
        raise ValueError(
            f"a surface needs two neighbouring draft models: '{stack}' has {len(stack.drafts)} from position {place} up"
        )
    low, high = stack.drafts[place : place + 2]
    values = surface(stack, basis.mixture, most=most, place=place)
    best = float(values.min())
    at = np.unravel_index(int(values.argmin()), values.shape)
    end = min(SCALE_END, max(1.2, float(values.max()) / best))
    marks = [mark(int(at[0]) + 1, int(at[1]) + 1, "best", f"{best:.3g}", f"predicted minimum: {best:.3g} ms")]
    pick = affine_along(stack, basis.calibration, most)
    exact = MixedLaw(basis.mixture).predict(pick).ms_per_token
    words = f"quick selection, as if each level proposed exactly its lookahead: {exact:.3g} ms predicted"
    marks.append(mark(*(m.lookahead for m in pick.drafts[place : place + 2]), "affine", "", words))
    note = ""
    for written, value in (basis.measured if measured is None else measured).items():
        if (spot := _spot(written, stack, place)) and max(spot) <= most:
            ms = value.ms_per_token if isinstance(value, Measured) else float(value)
            law = float(values[spot[0] - 1, spot[1] - 1])
            marks.append(mark(*spot, "measured", f"{ms:.3g}", f"measured: {ms:.3g} ms, predicted {law:.3g}"))
            note = " Marks of measured runs show the measured value."
    steps, highest = list(range(1, most + 1)), min(float(values.max()), best * SCALE_END)
    spec = {
        # The stack without lookaheads.
        "title": f"Latency of {Stack(stack.bottom, tuple(Model(m.name) for m in stack.models))} by lookahead",
        "x": axis(f"lookahead of {low.name}, tokens", 0.5, most + 0.5, steps[:: max(1, most // 8)]),
        "y": axis(f"lookahead of {high.name}, tokens", 0.5, most + 0.5, steps[:: max(1, most // 8)]),
        "cells": {
            "x": steps,
            "y": steps,
            "values": np.round(values.T, 4).tolist(),
            "scale": "time",
            "best": best,
            "end": end,
            "phrase": f"{low.name} proposes {{x}}, {high.name} {{y}}: {{v}} ms per token, {{r}} times the best",
        },
        # Between the best and the end of the scale.
        "contours": {"step": round_step((highest - best) / CONTOURS or 1.0), "form": ".3~g"},
        "marks": marks,
        "text": f"Each cell is a setting; contours have equal latency in ms per token.{note}",
        "source": basis.predicted,
    }
    return heat(spec, dark)


def affine_along(stack: Stack, calibration: Calibration, most: int = MOST) -> Stack:
    """Return the affine form's lookaheads for a given chain: a shortest path with all other edges closed."""
    chain = tuple(m.name for m in stack.models)
    edges = {pair: calibration.edge(*pair) for pair in pairwise(chain)}
    bottom = None if stack.bottom is None else str(stack.bottom)
    tiers = {} if bottom is None else {(bottom, chain[0]): calibration.tier(bottom, chain[0])}
    costs = {}
    for place, name in enumerate(chain):
        c = calibration.cost(name)
        # Only the lowest model may draft one token at a time.
        forward = c.forward if place == 0 else (_CLOSED, *c.verifying(most + 2)[2:].tolist())
        costs[name] = LevelCost(
            forward, c.draft if place == 0 and bottom is None else (_CLOSED,), c.overhead, c.draft_overhead
        )
    only = Calibration(chain, costs, edges, tiers, {b: calibration.lookup(b) for b in calibration.databases})
    return affine(only.restricted(databases=[] if bottom is None else [bottom]), most=most).stack


def _spot(written: str, stack: Stack, place: int) -> tuple[int, int] | None:
    """Return the two lookaheads of a measured stack if it is this chain with equal other lookaheads."""
    other = parse(written)
    if other.bottom != stack.bottom or [m.name for m in other.models] != [m.name for m in stack.models]:
        return None
    for k, (a, b) in enumerate(zip(other.drafts, stack.drafts, strict=True)):
        if a.lookahead is None or (k not in (place, place + 1) and a.lookahead != b.lookahead):
            return None
    return other.drafts[place].lookahead, other.drafts[place + 1].lookahead
