"""The polynomial selection: a generalized shortest path over draft models (Globerson et al. 2025).

If a call returned exactly its lookahead g, the ms per token of a level would be affine in those of
the level below: l_j = (g l_i + c_j(1 + g)) / G(g) with G(g) = 1 + S(1) + ... + S(g). So an edge
i -> j of a graph multiplies the incoming value and adds to it. All edges are increasing, so the
best hierarchy below j extends the best one below i. Draft models are ordered by size, so a single
sweep over the pairs solves the problem in O(K² g_max) for K models.

The result is exact for one draft model. For more it ignores the overshoot of higher levels, so use
it to choose a stack, not to predict its latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from hsd_viz.latency.hierarchies import join
from hsd_viz.latency.inputs import Calibration, LookupCost
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD, Hierarchy
from hsd_viz.stack import Stack


def shortest_path(
    calibration: Calibration,
    *,
    max_lookahead: int = MAX_PLANNED_LOOKAHEAD,
    max_levels: int | None = None,
    along: Hierarchy | None = None,
) -> Stack:
    """Return the stack that the polynomial selection chooses.

    Args:
        calibration: the measured costs and acceptance.
        max_lookahead: the largest lookahead.
        max_levels: the largest number of parts in a stack, including database and target.
        along: the only hierarchy to consider, for which lookaheads are chosen; by default all.
    """
    paths: list[tuple[float, Stack]] = []
    for database in (along[0],) if along else (None, *calibration.databases):
        search = _Search(calibration, database, max_lookahead, max_levels, along)
        paths += search.paths_to_target()
    return min(paths, key=lambda pair: pair[0])[1]


class _Path(NamedTuple):
    """A hierarchy below a model.

    Attributes:
        ms: the ms per token of that model.
        drafts: the draft models with their lookaheads, bottom first.
    """

    ms: float
    drafts: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Search:
    """A sweep over the draft models, for a fixed database below them.

    Attributes:
        calibration: the measured costs and acceptance.
        database: the database below the draft models; ``None`` for none.
        max_lookahead: the largest lookahead.
        max_levels: the largest number of parts in a stack; ``None`` means unlimited.
        along: the only hierarchy to consider; ``None`` for all.
        best: the best path below a model, by the model and the number of draft models in the path.
    """

    calibration: Calibration
    database: str | None
    max_lookahead: int
    max_levels: int | None
    along: Hierarchy | None
    best: dict[tuple[str, int], _Path] = field(default_factory=dict)

    def paths_to_target(self) -> list[tuple[float, Stack]]:
        """Return the ms per token and the stack of the best path per number of draft models."""
        self._start()
        models = self.calibration.models
        pairs = self._pairs()
        for place, verifier in enumerate(models):
            for draft in models[:place]:
                if (draft, verifier) in pairs:
                    self._extend(draft, verifier)
        counts = [len(self.along[1])] if self.along else range(self._most_drafts + 1)
        target = self.calibration.target
        paths = []
        for count in counts:
            path = self.best.get((target, count))
            if path is not None:
                names = tuple(name for name, _ in path.drafts)
                lookaheads = [lookahead for _, lookahead in path.drafts]
                stack = join((self.database, names), lookaheads, target)
                paths.append((path.ms, stack))
        return paths

    def _start(self) -> None:
        """Add the paths without draft models: plain decoding, or each model over the database."""
        target = self.calibration.target
        if self.database is None:
            ms = self.calibration.costs[target].verifying(1) + self._overhead(target)
            self.best[target, 0] = _Path(ms, ())
            return
        for (database, model), tier in self.calibration.tiers.items():
            if database != self.database or not self._may_be_lowest(model):
                continue
            cost = self.calibration.costs[model]
            forward = sum(share * cost.verifying(n + 1) for n, share in enumerate(tier.drafted()))
            ms = (forward + self._lookup_cost.lookup + self._overhead(model)) / tier.tokens
            self.best[model, 0] = _Path(ms, ())

    def _extend(self, draft: str, verifier: str) -> None:
        """Extend the paths below a draft model to a verifier, with each lookahead."""
        gained = self.calibration.edges[draft, verifier].curve(self.max_lookahead)
        costs = self.calibration.costs
        for count, path in list(self._paths_below(draft)):
            for lookahead in range(1, self.max_lookahead + 1):
                if path is None:
                    drafting = costs[draft].alone(lookahead)
                else:
                    drafting = lookahead * path.ms
                verifying = costs[verifier].verifying(1 + lookahead) + self._overhead(verifier)
                ms = (drafting + verifying) / sum(gained[: lookahead + 1])
                best = self.best.get((verifier, count + 1))
                if best is None or ms < best.ms:
                    lower = () if path is None else path.drafts
                    self.best[verifier, count + 1] = _Path(ms, (*lower, (draft, lookahead)))

    def _paths_below(self, draft: str) -> Iterator[tuple[int, _Path | None]]:
        """Yield each number of draft models below a draft model with the best path; the path is
        ``None`` if the model drafts alone.
        """
        for count in range(self._most_drafts):
            path = self.best.get((draft, count))
            if path is not None:
                yield count, path
        if self.database is None and self._most_drafts and self._may_be_lowest(draft):
            yield 0, None

    def _pairs(self) -> set[tuple[str, str]]:
        """Return the allowed pairs of a draft model and its verifier."""
        if self.along is None:
            return set(self.calibration.edges)
        return set(pairwise((*self.along[1], self.calibration.target)))

    def _may_be_lowest(self, model: str) -> bool:
        """Return whether a model may be the lowest model of a stack."""
        if self.along is None:
            return model in self.calibration.models
        return model == (*self.along[1], self.calibration.target)[0]

    @property
    def _most_drafts(self) -> int:
        """The largest number of draft models in a path."""
        drafts = len(self.calibration.models) - 1
        if self.max_levels is None:
            return drafts
        return min(drafts, self.max_levels - 1 - (self.database is not None))

    @property
    def _lookup_cost(self) -> LookupCost:
        assert self.database is not None
        return self.calibration.lookup(self.database)

    def _overhead(self, model: str) -> float:
        """Return the time of a round beside its forward pass, in ms."""
        overhead = self.calibration.costs[model].overhead
        if self.database is not None and model == self.calibration.target:
            overhead += self._lookup_cost.update
        return overhead
