"""Selection on the affine form: a generalized shortest path, solved in one sweep.

If a call returns exactly its lookahead g, the ms per token of a level are affine in those of the level below, l_j = a
l_i + b with a = g / G(g), b = c_j(1 + g) / G(g) and G(g) = 1 + S(1) + ... + S(g): an edge i -> j of a graph multiplies
what comes in and adds to it. All edges are increasing, so the best way to j continues the best way to i; and because
draft models are ordered by size, one sweep over the pairs solves it: O(K^2 g_max) for K models. That the selection is a
generalized shortest path with a polynomial solution is the result of Globerson et al. 2025 (arXiv 2510.19705); this
form of it is the project's own. Databases enter as further sources. The value is exact for one draft model and ignores
overshoot above: use it to choose, not to predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.calibration import Calibration
from hsd_viz.stack import MAX_LOOKAHEAD, DraftSource, Model, Stack, parse

#: Largest lookahead that is considered.
MOST = 16


@dataclass(frozen=True, slots=True)
class Affine:
    """The pick of the affine form and its affine value, ms per token."""

    stack: Stack
    ms_per_token: float


@dataclass(frozen=True, slots=True)
class _Way:
    """The best way found to a model: its ms per token there, and the draft models passed with their lookaheads."""

    ms: float
    drafts: tuple[tuple[str, int], ...] = ()


def affine(
    calibration: Calibration, *, most: int = MOST, max_drafts: int | None = None, bottoms: Sequence[str] | None = None
) -> Affine:
    """Return the stack with the least ms per token in the affine form.

    Lookaheads go up to ``most``; ``max_drafts`` bounds the number of draft models; ``bottoms`` are the databases that
    may be the lowest level (default: all that were measured; empty: none).
    """
    check_limits(most, max_drafts)
    found = []
    for bottom in (None, *(calibration.bottoms if bottoms is None else bottoms)):
        best = _sweep(calibration, bottom, most, max_drafts)
        if calibration.target in best:
            found.append((best[calibration.target], bottom))
    way, bottom = min(found, key=lambda f: f[0].ms)
    return Affine(stack_of(bottom, way.drafts, calibration.target), way.ms)


def check_limits(most: int, max_drafts: int | None = None) -> None:
    """Raise ``ValueError`` for limits outside what a stack can express."""
    if not 1 <= most <= MAX_LOOKAHEAD:
        raise ValueError(f"the largest lookahead must be a whole number from 1 to {MAX_LOOKAHEAD}, not {most}")
    if max_drafts is not None and max_drafts < 0:
        raise ValueError(f"the number of draft models must be at least 0, not {max_drafts}")


def stack_of(bottom: str | None, drafts: Sequence[tuple[str, int]], target: str) -> Stack:
    """Return a stack from its parts."""
    source: DraftSource | None = None if bottom is None else parse(f"{bottom} > target").bottom
    return Stack(source, (*(Model(name, g) for name, g in drafts), Model(target)))


def _sweep(calibration: Calibration, bottom: str | None, most: int, max_drafts: int | None) -> dict[str, _Way]:
    """Return the best way to each model over one source: ``bottom``, or models that draft alone."""
    models = calibration.models
    update = 0.0 if bottom is None else calibration.lookup(bottom).update
    extra = {m: calibration.costs[m].overhead + (update if m == calibration.target else 0.0) for m in models}
    best: dict[str, _Way] = {}
    if bottom is None:
        best[calibration.target] = _Way(
            float(calibration.costs[calibration.target].verifying(1)[1]) + extra[calibration.target]
        )
    for m in models:
        if bottom is not None and (bottom, m) in calibration.tiers:
            tier = calibration.tiers[bottom, m]
            drafted = tier.drafted()
            cost = (
                drafted @ calibration.costs[m].verifying(len(drafted))[1:]
                + calibration.lookup(bottom).lookup
                + extra[m]
            )
            best[m] = _Way(float(cost) / tier.tokens)

    lookaheads = np.arange(1, most + 1)
    # Without a limit one sweep in the order of size is enough; with a limit each pass adds at most one model to every
    # way.
    for _ in range(1 if max_drafts is None else max_drafts):
        known = best if max_drafts is None else dict(best)
        for place, j in enumerate(models):
            for i in models[:place]:
                if (i, j) not in calibration.edges:
                    continue
                own = calibration.costs[j].verifying(most + 1)[2:] + extra[j]
                tokens = calibration.edges[i, j].curve(most).cumsum()[1:]
                if bottom is None:
                    lowest = calibration.costs[i]
                    alone = lookaheads * lowest.drafting(1)[1] + lowest.draft_overhead
                    _relax(best, j, _Way(0.0, ()), i, (alone + own) / tokens)
                if i in known and (i != calibration.target):
                    _relax(best, j, known[i], i, (lookaheads * known[i].ms + own) / tokens)
    return best


def _relax(best: dict[str, _Way], j: str, below: _Way, i: str, ms: NDArray[Any]) -> None:
    at = int(ms.argmin())
    if j not in best or ms[at] < best[j].ms:
        best[j] = _Way(float(ms[at]), (*below.drafts, (i, at + 1)))
