"""Select the fastest stack by the law, beside the polynomial selection of the paper.

The law has no optimal substructure: the overshoot of a level matters above it. So every subset of
the draft models, over nothing and over each database, is tried. With up to two draft models all
lookaheads are enumerated; with more, they start from the polynomial selection's and are changed one
at a time until nothing improves. Then each draft model is tried with each confidence that was
measured, together with its lookahead, until nothing improves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from math import inf
from typing import NamedTuple

from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import MOST_CONSIDERED, Hierarchy, Law, Prediction
from hsd_viz.ranges import check_range
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.stack import MAX_LOOKAHEAD, Model, Stack, read_source


@dataclass(frozen=True, slots=True)
class Choice:
    """The fastest stack and its alternatives.

    Attributes:
        picked: the fastest.
        plain: plain decoding.
        best_single_draft: the fastest with one draft model alone; ``None`` without one.
        shortest: the polynomial selection's pick, predicted by the law.
        ranked: the best setting of every hierarchy, fastest first.
    """

    picked: Prediction
    plain: Prediction
    best_single_draft: Prediction | None
    shortest: Prediction
    ranked: tuple[Prediction, ...]

    @property
    def kind(self) -> str:
        """``plain``, ``databases only``, ``one draft`` or ``hierarchy`` (more than one source of
        drafts).
        """
        return structure_of(self.picked.levels).words


def select(
    calibration: Calibration, *, most: int = MOST_CONSIDERED, max_levels: int | None = None
) -> Choice:
    """Return the fastest stack by the law. Lookaheads go up to ``most``; ``max_levels`` bounds the
    parts of a stack, database and target included.
    """
    check_range("the largest lookahead", most, 1, MAX_LOOKAHEAD)
    if max_levels is not None:
        check_range("the number of levels", max_levels, 1)
    law = Law(calibration)
    target = calibration.target
    best: list[Stack] = []
    for hierarchy in hierarchies(calibration, max_levels):
        fixed = join(hierarchy, best_lookaheads(law, hierarchy, most), target)
        unsure = with_confidences(law, fixed, most)
        best += [fixed] if unsure == fixed else [unsure, fixed]
    ranked = tuple(sorted(map(law.predict, best), key=lambda p: p.ms_per_token))
    single = [p for p in ranked if structure_of(p.levels) is Structure.ONE_DRAFT]
    shortest = law.predict(shortest_path(calibration, most=most, max_levels=max_levels))
    return Choice(ranked[0], law.predict(target), single[0] if single else None, shortest, ranked)


def choose(
    *,
    costs: Mapping[str, float | Sequence[float] | LevelCost],
    acceptance: Mapping[str, float | Edge],
    most: int = MOST_CONSIDERED,
    max_levels: int | None = None,
) -> Choice:
    """Return the fastest stack for known costs and acceptance, and its alternatives.

    Args:
        costs: by model, smallest first, the target last: milliseconds of a forward pass, or of
            those that feed 1, 2, ... tokens.
        acceptance: by "draft > verifier": conditional acceptance of draft tokens, or a survival
            curve.
        most, max_levels: as for :func:`select`.

    Raises:
        UserError: if a pair names a model without costs, or a figure is out of range.

    >>> costs = {"small": 1, "large": [10, 11, 12]}
    >>> choose(costs=costs, acceptance={"small > large": 0.8}).picked.stack
    'small:4 > large'
    """
    levels: dict[str, LevelCost] = {}
    for name, cost in costs.items():
        if isinstance(cost, LevelCost):
            levels[name] = cost
        else:
            levels[name] = LevelCost(tuple(cost) if isinstance(cost, Sequence) else (cost,))
    edges = {}
    for pair, rate in acceptance.items():
        draft, _, verifier = (part.strip() for part in pair.partition(">"))
        if draft not in levels or verifier not in levels:
            raise UserError(
                f"'{pair}' is not a pair of the models {', '.join(levels)}: "
                "write 'draft > verifier'"
            )
        edges[draft, verifier] = rate if isinstance(rate, Edge) else Edge(tail=rate)
    return select(Calibration(tuple(levels), levels, edges), most=most, max_levels=max_levels)


def hierarchies(calibration: Calibration, max_levels: int | None = None) -> Iterator[Hierarchy]:
    """Yield every hierarchy with known acceptance on all its edges."""
    *drafts, target = calibration.models
    for database in (None, *calibration.databases):
        most = len(drafts) if max_levels is None else max_levels - 1 - (database is not None)
        for count in range(min(most, len(drafts)) + 1):
            for names in combinations(drafts, count):
                known = database is None or (database, (*names, target)[0]) in calibration.tiers
                if known and all(pair in calibration.edges for pair in pairwise((*names, target))):
                    yield database, names


def best_lookaheads(law: Law, hierarchy: Hierarchy, most: int = MOST_CONSIDERED) -> tuple[int, ...]:
    """Return the fastest lookaheads of a hierarchy under the calibrated target, each up to
    ``most``.
    """
    names = hierarchy[1]
    if len(names) <= 2:
        return min(
            product(range(1, most + 1), repeat=len(names)), key=lambda g: law.ms(hierarchy, g)
        )
    start = shortest_path(law.calibration, most=most, along=hierarchy)
    return refine(law, hierarchy, split(start)[1], range(len(names)), most)


def refine(
    law: Law,
    hierarchy: Hierarchy,
    start: tuple[int, ...],
    places: Sequence[int],
    most: int = MOST_CONSIDERED,
) -> tuple[int, ...]:
    """Return ``start`` with the lookaheads at ``places`` changed one at a time until none
    improves.
    """
    best = law.ms(hierarchy, start)
    lookaheads = start
    unchanged = 0
    while places and unchanged < len(places):
        for place in places:
            unchanged += 1
            ms, changed = _best_at(law, hierarchy, lookaheads, place, most)
            if ms < best * (1 - 1e-12):
                best = ms
                lookaheads = changed
                unchanged = 0
    return lookaheads


def _best_at(
    law: Law, hierarchy: Hierarchy, lookaheads: tuple[int, ...], place: int, most: int
) -> tuple[float, tuple[int, ...]]:
    """Return the least ms per token of all lookaheads at one place, and these lookaheads."""
    tried = []
    for lookahead in range(1, most + 1):
        changed = (*lookaheads[:place], lookahead, *lookaheads[place + 1 :])
        tried.append((law.ms(hierarchy, changed), changed))
    return min(tried)


def with_confidences(law: Law, stack: Stack, most: int = MOST_CONSIDERED) -> Stack:
    """Return the stack with the lookahead and the confidence of each draft model changed, one model
    at a time, until none improves; confidences are those that were measured.
    """
    database = stack.source
    drafts = stack.drafts
    best = law.ms_of(database, drafts)
    improved = True
    while improved:
        improved = False
        for place in range(len(drafts)):
            for model in _variants(law.calibration, (*drafts, stack.target), place, most):
                tried = (*drafts[:place], model, *drafts[place + 1 :])
                ms = law.ms_of(database, tried)
                if ms / best < 1 - 1e-12:
                    best = ms
                    drafts = tried
                    improved = True
    return Stack(stack.bottom, (*drafts, stack.target))


def _variants(
    calibration: Calibration, models: tuple[Model, ...], place: int, most: int
) -> Iterator[Model]:
    """Yield the model at ``place`` with every lookahead, alone and with each confidence that was
    measured for it.
    """
    draft = models[place]
    verifier = models[place + 1]
    name = calibration.target if place + 2 == len(models) else verifier.name
    for lookahead in range(1, most + 1):
        yield Model(draft.name, lookahead)
    for stop in calibration.stops.get((draft.name, name), ()):
        # A lookahead of one token leaves nothing to stop.
        for lookahead in range(2, min(most, stop.lookahead) + 1):
            yield Model(draft.name, lookahead, stop.confidence)


def fill(stack: Stack, calibration: Calibration) -> Stack:
    """Return the stack with its lookaheads that are left out or ``auto`` set to the fastest by the
    law.

    Raises:
        UserError: if something of the stack was not measured.
    """
    places = [k for k, draft in enumerate(stack.drafts) if not isinstance(draft.lookahead, int)]
    hierarchy, start = split(stack)
    lookaheads = refine(Law(calibration), hierarchy, start, places)
    filled = []
    for draft, lookahead in zip(stack.drafts, lookaheads, strict=True):
        filled.append(replace(draft, lookahead=lookahead))
    return Stack(stack.bottom, (*filled, stack.target))


def shortest_path(
    calibration: Calibration,
    *,
    most: int = MOST_CONSIDERED,
    max_levels: int | None = None,
    along: Hierarchy | None = None,
) -> Stack:
    """Return the pick of the polynomial selection: a generalized shortest path (Globerson et al.
    2025).

    If a call returned exactly its lookahead g, the ms per token of a level would be affine in those
    of the level below, l_j = (g l_i + c_j(1 + g)) / G(g) with G(g) = 1 + S(1) + ... + S(g): an edge
    i -> j of a graph multiplies what comes in and adds to it. All edges are increasing, so the best
    hierarchy below j continues the best one below i; and draft models are ordered by size, so one
    sweep over the pairs solves it, O(K² g_max) for K models. Exact for one draft model; it ignores
    overshoot above, so use it to choose, not to predict. ``along`` allows one hierarchy only, of
    which it then returns the lookaheads.
    """
    paths: list[tuple[float, Stack]] = []
    for database in (along[0],) if along else (None, *calibration.databases):
        paths += _paths_over(database, calibration, most, max_levels, along)
    return min(paths, key=lambda pair: pair[0])[1]


class _Path(NamedTuple):
    """A hierarchy below a model.

    Attributes:
        ms: per token of that model.
        drafts: the draft models with their lookaheads.
    """

    ms: float
    drafts: tuple[tuple[str, int], ...]


_NO_PATH = _Path(inf, ())


def _paths_over(
    database: str | None,
    calibration: Calibration,
    most: int,
    max_levels: int | None,
    along: Hierarchy | None,
) -> list[tuple[float, Stack]]:
    """Return ms per token and stack of the best path to the target for each number of draft models
    over a database (``None``: over none).
    """
    models = calibration.models
    costs = calibration.costs
    target = calibration.target
    pairs = set(pairwise((*along[1], target))) if along else set(calibration.edges)
    lookup = calibration.lookup(database) if database else None
    overhead = {}
    for model in models:
        overhead[model] = costs[model].overhead
        if lookup is not None and model == target:
            overhead[model] += lookup.update
    #: By (model, number of draft models below).
    best: dict[tuple[str, int], _Path] = {}
    if lookup is None:
        best[target, 0] = _Path(costs[target].verifying(1) + overhead[target], ())
    for (source, model), tier in calibration.tiers.items():
        if source != database or model not in models or lookup is None:
            continue
        if along is not None and model != (*along[1], target)[0]:
            continue
        cost = costs[model]
        forward = sum(chance * cost.verifying(n + 1) for n, chance in enumerate(tier.drafted()))
        best[model, 0] = _Path((forward + lookup.lookup + overhead[model]) / tier.tokens, ())
    limit = min(len(models) - 1, (max_levels or len(models) + 1) - 1 - (database is not None))
    for place, verifier in enumerate(models):
        for draft in models[:place]:
            if (draft, verifier) not in pairs:
                continue
            gained = calibration.edges[draft, verifier].curve(most)
            starts: list[tuple[int, _Path | None]] = []
            for n in range(limit):
                if (draft, n) in best:
                    starts.append((n, best[draft, n]))
            if limit and database is None and (along is None or draft == along[1][0]):
                starts.append((0, None))
            for below, path in starts:
                for g in range(1, most + 1):
                    drafting = costs[draft].alone(g) if path is None else g * path.ms
                    spent = drafting + costs[verifier].verifying(1 + g) + overhead[verifier]
                    ms = spent / sum(gained[: g + 1])
                    if ms < best.get((verifier, below + 1), _NO_PATH).ms:
                        drafts = () if path is None else path.drafts
                        best[verifier, below + 1] = _Path(ms, (*drafts, (draft, g)))
    paths = []
    for n in [len(along[1])] if along else range(limit + 1):
        if (target, n) in best:
            ms, drafts = best[target, n]
            hierarchy = (database, tuple(model for model, _ in drafts))
            paths.append((ms, join(hierarchy, [g for _, g in drafts], target)))
    return paths


def split(stack: Stack) -> tuple[Hierarchy, tuple[int, ...]]:
    """Return the hierarchy of a stack, and its lookaheads (left out or ``auto``: 4)."""
    lookaheads = tuple(m.lookahead if isinstance(m.lookahead, int) else 4 for m in stack.drafts)
    return (stack.source, tuple(m.name for m in stack.drafts)), lookaheads


def join(hierarchy: Hierarchy, lookaheads: Sequence[int], target: str) -> Stack:
    """Return the stack of a hierarchy with these lookaheads: the inverse of :func:`split`."""
    database, names = hierarchy
    source = None if database is None else read_source(database)
    return Stack(source, (*map(Model, names, lookaheads), Model(target)))
