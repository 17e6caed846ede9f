"""Select the fastest stack by the law.

The law has no optimal substructure, because the overshoot of a level affects the levels above. So
every subset of the draft models is tried, without a database and over each database. With up to two
draft models all lookaheads are enumerated. With more, the search starts from the lookaheads of the
paper's polynomial selection (:mod:`hsd_viz.latency.shortest`), and changes one at a time until no
change improves the result. Finally the lookahead and the measured confidences of each draft model
are tried together, until no change improves the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hsd_viz.errors import UserError
from hsd_viz.latency.hierarchies import FIRST_LOOKAHEAD, hierarchies, join, split
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD, Hierarchy, Law, Prediction
from hsd_viz.latency.shortest import shortest_path
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.settings.ranges import check_range
from hsd_viz.stack import MAX_LOOKAHEAD, ModelPart, Stack


@dataclass(frozen=True, slots=True)
class StackChoice:
    """The fastest stack and its alternatives, as predictions of the law.

    Attributes:
        picked: the fastest stack.
        plain: plain decoding.
        best_single_draft: the fastest stack of a single draft model and the target; ``None`` if
            there is none.
        shortest: the stack that the polynomial selection chooses.
        ranked: the best settings of each hierarchy, fastest first. If a confidence makes a
            hierarchy faster, its best settings without confidence follow, too.
    """

    picked: Prediction
    plain: Prediction
    best_single_draft: Prediction | None
    shortest: Prediction
    ranked: tuple[Prediction, ...]

    @property
    def structure(self) -> Structure:
        """The structure of the picked stack."""
        return structure_of(self.picked.levels)


def select(
    calibration: Calibration,
    *,
    max_lookahead: int = MAX_PLANNED_LOOKAHEAD,
    max_levels: int | None = None,
) -> StackChoice:
    """Return the fastest stack by the law, and its alternatives.

    Args:
        calibration: the measured costs and acceptance.
        max_lookahead: the largest lookahead to consider.
        max_levels: the largest number of parts in a stack, including database and target.
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
    max_lookahead: int = MAX_PLANNED_LOOKAHEAD,
    max_levels: int | None = None,
) -> StackChoice:
    """Return the fastest stack for known costs and acceptance, and its alternatives.

    Args:
        costs: the cost of each model, smallest first, the target last: the time of a forward pass
            in ms, or the times of forward passes that feed 1, 2, ... tokens.
        acceptance: the conditional acceptance of draft tokens, or a survival curve, by "draft >
            verifier".
        max_lookahead, max_levels: as for :func:`select`.

    Raises:
        UserError: if a pair names a model without costs, or if a figure is out of range.

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
    law: Law, hierarchy: Hierarchy, max_lookahead: int = MAX_PLANNED_LOOKAHEAD
) -> tuple[int, ...]:
    """Return the fastest lookaheads of a hierarchy below the calibrated target."""
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
    max_lookahead: int = MAX_PLANNED_LOOKAHEAD,
) -> tuple[ModelPart, ...]:
    """Improve lookaheads one at a time until no change improves the result.

    Args:
        law: the law.
        database: the database below the draft models; ``None`` for none.
        start: the draft models with initial lookaheads; their confidences are kept.
        places: the indices of the draft models whose lookaheads may change.
        max_lookahead: the largest lookahead to consider.

    Returns:
        The draft models with improved lookaheads.
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
    """Return the least ms per token over all lookaheads of a draft model, and the draft models with
    that lookahead, the smallest of equal ones.
    """
    tried = []
    for lookahead in range(1, max_lookahead + 1):
        model = replace(drafts[place], lookahead=lookahead)
        changed = (*drafts[:place], model, *drafts[place + 1 :])
        tried.append((law.ms_of(database, changed), changed))
    return min(tried, key=lambda candidate: candidate[0])


def with_confidences(law: Law, stack: Stack, max_lookahead: int = MAX_PLANNED_LOOKAHEAD) -> Stack:
    """Improve the lookahead and the confidence of draft models, one model at a time, until no
    change improves the result. Only measured confidences are tried.
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
    """Yield the model at index ``place`` with each lookahead, without a confidence and with each
    measured one.
    """
    draft = models[place]
    verifier = models[place + 1]
    name = calibration.target if place + 2 == len(models) else verifier.name
    for lookahead in range(1, max_lookahead + 1):
        yield ModelPart(draft.name, lookahead)
    for stop in calibration.stops.get((draft.name, name), ()):
        # A draft of one token cannot stop earlier.
        for lookahead in range(2, min(max_lookahead, stop.lookahead) + 1):
            yield ModelPart(draft.name, lookahead, stop.confidence)


def fill(stack: Stack, calibration: Calibration) -> Stack:
    """Set the lookaheads that are left out or ``auto`` to the fastest ones by the law.

    Raises:
        UserError: if a part of the stack or a confidence was not measured.
    """
    places = []
    start = list(stack.drafts)
    for place, draft in enumerate(stack.drafts):
        if not isinstance(draft.lookahead, int):
            places.append(place)
            start[place] = replace(draft, lookahead=FIRST_LOOKAHEAD)
    drafts = refine(Law(calibration), stack.source, tuple(start), places)
    return Stack(stack.bottom, (*drafts, stack.target))
