"""Select the fastest stack by the law, beside the polynomial selection of the paper.

The law has no optimal substructure: the overshoot of a level matters above it. So every subset of
the draft models, over nothing and over each database, is tried. With up to two draft models all
lookaheads are enumerated; with more, they start from the polynomial selection's
(:mod:`hsd_viz.latency.shortest`) and are changed one at a time until nothing improves. Then each
draft model is tried with each confidence that was measured, together with its lookahead, until
nothing improves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hsd_viz.errors import UserError
from hsd_viz.latency.hierarchies import FIRST_LOOKAHEAD, hierarchies, join, split
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import MOST_CONSIDERED, Hierarchy, Law, Prediction
from hsd_viz.latency.shortest import shortest_path
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.settings.ranges import check_range
from hsd_viz.stack import MAX_LOOKAHEAD, ModelPart, Stack


@dataclass(frozen=True, slots=True)
class StackChoice:
    """The fastest stack and its alternatives.

    Attributes:
        picked: the fastest.
        plain: plain decoding.
        best_single_draft: the fastest with one draft model alone; ``None`` without one.
        shortest: the polynomial selection's pick, predicted by the law.
        ranked: the best setting of every hierarchy, fastest first; where a confidence is faster,
            also the best setting without one.
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
    calibration: Calibration, *, max_lookahead: int = MOST_CONSIDERED, max_levels: int | None = None
) -> StackChoice:
    """Return the fastest stack by the law.

    Args:
        calibration: what was measured.
        max_lookahead: the largest lookahead that is considered.
        max_levels: the most parts of a stack, database and target included.
    """
    check_range("the largest lookahead", max_lookahead, 1, MAX_LOOKAHEAD)
    if max_levels is not None:
        check_range("the number of levels", max_levels, 1)
    law = Law(calibration)
    target = calibration.target
    best: list[Stack] = []
    for hierarchy in hierarchies(calibration, max_levels):
        fixed = join(hierarchy, best_lookaheads(law, hierarchy, max_lookahead), target)
        unsure = with_confidences(law, fixed, max_lookahead)
        best += [fixed] if unsure == fixed else [unsure, fixed]
    ranked = tuple(sorted(map(law.predict, best), key=lambda p: p.ms_per_token))
    single = [p for p in ranked if structure_of(p.levels) is Structure.ONE_DRAFT]
    shortest = law.predict(
        shortest_path(calibration, max_lookahead=max_lookahead, max_levels=max_levels)
    )
    return StackChoice(
        ranked[0], law.predict(target), single[0] if single else None, shortest, ranked
    )


def choose(
    *,
    costs: Mapping[str, float | Sequence[float] | LevelCost],
    acceptance: Mapping[str, float | Edge],
    max_lookahead: int = MOST_CONSIDERED,
    max_levels: int | None = None,
) -> StackChoice:
    """Return the fastest stack for known costs and acceptance, and its alternatives.

    Args:
        costs: by model, smallest first, the target last: milliseconds of a forward pass, or of
            those that feed 1, 2, ... tokens.
        acceptance: by "draft > verifier": conditional acceptance of draft tokens, or a survival
            curve.
        max_lookahead, max_levels: as for :func:`select`.

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
    return select(
        Calibration(tuple(levels), levels, edges),
        max_lookahead=max_lookahead,
        max_levels=max_levels,
    )


def best_lookaheads(
    law: Law, hierarchy: Hierarchy, max_lookahead: int = MOST_CONSIDERED
) -> tuple[int, ...]:
    """Return the fastest lookaheads of a hierarchy under the calibrated target, each up to
    ``max_lookahead``.
    """
    names = hierarchy[1]
    if len(names) <= 2:
        return min(
            product(range(1, max_lookahead + 1), repeat=len(names)),
            key=lambda g: law.ms(hierarchy, g),
        )
    start = shortest_path(law.calibration, max_lookahead=max_lookahead, along=hierarchy)
    drafts = refine(law, start.source, start.drafts, range(len(names)), max_lookahead)
    return split(Stack(start.bottom, (*drafts, start.target)))[1]


def refine(
    law: Law,
    database: str | None,
    start: tuple[ModelPart, ...],
    places: Sequence[int],
    max_lookahead: int = MOST_CONSIDERED,
) -> tuple[ModelPart, ...]:
    """Return the draft models of ``start`` with the lookaheads at ``places`` changed one at a time
    until none improves; confidences are kept.
    """
    best = law.ms_of(database, start)
    drafts = start
    unchanged = 0
    while places and unchanged < len(places):
        for place in places:
            unchanged += 1
            ms, changed = _best_at(law, database, drafts, place, max_lookahead)
            if ms < best * (1 - 1e-12):
                best = ms
                drafts = changed
                unchanged = 0
    return drafts


def _best_at(
    law: Law, database: str | None, drafts: tuple[ModelPart, ...], place: int, max_lookahead: int
) -> tuple[float, tuple[ModelPart, ...]]:
    """Return the least ms per token of all lookaheads at one place, and the drafts that have it:
    among equals those of the smallest lookahead.
    """
    tried = []
    for lookahead in range(1, max_lookahead + 1):
        model = replace(drafts[place], lookahead=lookahead)
        changed = (*drafts[:place], model, *drafts[place + 1 :])
        tried.append((law.ms_of(database, changed), changed))
    return min(tried, key=lambda candidate: candidate[0])


def with_confidences(law: Law, stack: Stack, max_lookahead: int = MOST_CONSIDERED) -> Stack:
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
            for model in _variants(law.calibration, (*drafts, stack.target), place, max_lookahead):
                tried = (*drafts[:place], model, *drafts[place + 1 :])
                ms = law.ms_of(database, tried)
                if ms / best < 1 - 1e-12:
                    best = ms
                    drafts = tried
                    improved = True
    return Stack(stack.bottom, (*drafts, stack.target))


def _variants(
    calibration: Calibration, models: tuple[ModelPart, ...], place: int, max_lookahead: int
) -> Iterator[ModelPart]:
    """Yield the model at ``place`` with every lookahead, alone and with each confidence that was
    measured for it.
    """
    draft = models[place]
    verifier = models[place + 1]
    name = calibration.target if place + 2 == len(models) else verifier.name
    for lookahead in range(1, max_lookahead + 1):
        yield ModelPart(draft.name, lookahead)
    for stop in calibration.stops.get((draft.name, name), ()):
        # A lookahead of one token leaves nothing to stop.
        for lookahead in range(2, min(max_lookahead, stop.lookahead) + 1):
            yield ModelPart(draft.name, lookahead, stop.confidence)


def fill(stack: Stack, calibration: Calibration) -> Stack:
    """Return the stack with its lookaheads that are left out or ``auto`` set to the fastest by the
    law.

    Raises:
        UserError: if something of the stack was not measured, as a confidence.
    """
    places = []
    start = list(stack.drafts)
    for place, draft in enumerate(stack.drafts):
        if not isinstance(draft.lookahead, int):
            places.append(place)
            start[place] = replace(draft, lookahead=FIRST_LOOKAHEAD)
    drafts = refine(Law(calibration), stack.source, tuple(start), places)
    return Stack(stack.bottom, (*drafts, stack.target))
