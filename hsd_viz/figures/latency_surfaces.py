"""Predicted latency over two lookaheads: cells, contours and marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hsd_viz.calibration.basis import Measured, basis_of
from hsd_viz.figures.planes import axis, heat, mark, round_step
from hsd_viz.figures.style import go
from hsd_viz.latency.law import MOST, predict
from hsd_viz.latency.select import shortest_path, split, surface
from hsd_viz.stack import Model, Stack, parse

#: Approximate number of contours.
CONTOURS = 7
#: The heat scale ends at this multiple of the best.
SCALE_END = 2.5


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
    calibration, its file, a plan, or :func:`hsd_viz.views.recorded`. Marks: the predicted minimum, the polynomial
    selection, and ``measured`` ms per token by stack. Raises: ValueError: if there are no two such models.
    """
    basis = basis_of(basis, source)
    stack = parse(stack) if isinstance(stack, str) else stack
    if len(stack.drafts) < place + 2:
        raise ValueError(
            f"a surface needs two neighbouring draft models: '{stack}' has {len(stack.drafts)} from position {place} up"
        )
    low, high = stack.drafts[place : place + 2]
    values = surface(stack, basis.calibration, most=most, place=place)
    best = float(values.min())
    at = np.unravel_index(int(values.argmin()), values.shape)
    end = min(SCALE_END, max(1.2, float(values.max()) / best))
    marks = [mark(int(at[0]) + 1, int(at[1]) + 1, "best", f"{best:.3g}", f"predicted minimum: {best:.3g} ms")]
    pick = shortest_path(basis.calibration, most=most, along=split(stack)[0])
    exact = predict(pick, basis.calibration).ms_per_token
    words = f"polynomial selection, as if each level proposed exactly its lookahead: {exact:.3g} ms predicted"
    marks.append(mark(*(m.lookahead for m in pick.drafts[place : place + 2]), "shortest path", "", words))
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


def _spot(written: str, stack: Stack, place: int) -> tuple[int, int] | None:
    """Return the two lookaheads of a measured stack if it is this chain with equal other lookaheads."""
    other = parse(written)
    if other.bottom != stack.bottom or [m.name for m in other.models] != [m.name for m in stack.models]:
        return None
    for k, (a, b) in enumerate(zip(other.drafts, stack.drafts, strict=True)):
        if a.lookahead is None or (k not in (place, place + 1) and a.lookahead != b.lookahead):
            return None
    return other.drafts[place].lookahead, other.drafts[place + 1].lookahead
