"""Selection on the affine form: a generalized shortest path, solved in one sweep.

If a call returns exactly its lookahead g, the ms per token of a level are affine in those of the level below, l_j = a
l_i + b with a = g / G(g), b = c_j(1 + g) / G(g) and G(g) = 1 + S(1) + ... + S(g): an edge i -> j of a graph multiplies
what comes in and adds to it. All edges are increasing, so the best hierarchy below j continues the best one below i;
and because draft models are ordered by size, one sweep over the pairs solves it: O(K^2 g_max) for K models. That the
selection is a generalized shortest path with a polynomial solution is the result of Globerson et al. 2025 (arXiv
2510.19705); this form of it is the project's own. Databases enter as further sources. The value is exact for one draft
model and ignores overshoot above: use it to choose, not to predict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.inputs import Calibration
from hsd_viz.stack import MAX_LOOKAHEAD, DraftSource, Model, Stack, parse
from hsd_viz.words import check_range

#: Largest lookahead that is considered.
MOST = 16

#: The best hierarchy found below a model: ms per token there, and the draft models with their lookaheads.
_Best = tuple[float, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class Affine:
    """The pick of the affine form and its affine value, ms per token."""

    stack: Stack
    ms_per_token: float


def affine(calibration: Calibration, *, most: int = MOST, max_drafts: int | None = None) -> Affine:
    """Return the stack with the least ms per token in the affine form. Lookaheads go up to ``most``; ``max_drafts``
    bounds the number of draft models.
    """
    check_limits(most, max_drafts)
    found = []
    for database in (None, *calibration.databases):
        best = _sweep(calibration, database, most, max_drafts)
        if calibration.target in best:
            found.append((*best[calibration.target], database))
    ms, drafts, database = min(found, key=lambda f: f[0])
    return Affine(stack_of(database, drafts, calibration.target), ms)


def check_limits(most: int, max_drafts: int | None = None) -> None:
    """Raise ``ValueError`` for limits outside what a stack can express."""
    check_range("the largest lookahead", most, 1, MAX_LOOKAHEAD)
    if max_drafts is not None:
        check_range("the number of draft models", max_drafts, 0)


def stack_of(database: str | None, drafts: Sequence[tuple[str, int]], target: str) -> Stack:
    """Return a stack from its parts."""
    source: DraftSource | None = None if database is None else parse(f"{database} > target").bottom
    return Stack(source, (*(Model(name, g) for name, g in drafts), Model(target)))


def _sweep(calibration: Calibration, database: str | None, most: int, max_drafts: int | None) -> dict[str, _Best]:
    """Return the best hierarchy below each model over one source: ``database``, or models that draft alone."""
    models, target, costs = calibration.models, calibration.target, calibration.costs
    update = 0.0 if database is None else calibration.lookup(database).update
    extra = {m: costs[m].overhead + (update if m == target else 0.0) for m in models}
    best: dict[str, _Best] = {}
    if database is None:
        best[target] = float(costs[target].verifying(1)[1]) + extra[target], ()
    for (source, m), tier in calibration.tiers.items():
        if source == database and m in models:
            drafted = tier.drafted()
            forward = drafted @ costs[m].verifying(len(drafted))[1:]
            best[m] = float(forward + calibration.lookup(source).lookup + extra[m]) / tier.tokens, ()

    lookaheads = np.arange(1, most + 1)
    # Without a limit one sweep in the order of size is enough; with a limit each pass adds at most one model to every
    # hierarchy.
    for _ in range(1 if max_drafts is None else max_drafts):
        known = best if max_drafts is None else dict(best)
        for place, j in enumerate(models):
            for i in models[:place]:
                if (i, j) not in calibration.edges:
                    continue
                own = costs[j].verifying(most + 1)[2:] + extra[j]
                tokens = calibration.edges[i, j].curve(most).cumsum()[1:]
                below: list[tuple[NDArray[Any], tuple[tuple[str, int], ...]]] = []
                if database is None:
                    below.append((lookaheads * costs[i].drafting(1)[1] + costs[i].draft_overhead, ()))
                if i in known:
                    below.append((lookaheads * known[i][0], known[i][1]))
                for drafting, drafts in below:
                    ms = (drafting + own) / tokens
                    at = int(ms.argmin())
                    if j not in best or ms[at] < best[j][0]:
                        best[j] = float(ms[at]), (*drafts, (i, at + 1))
    return best
