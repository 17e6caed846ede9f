"""The law over several kinds of text: one law for each, averaged.

Texts differ in how easily they are drafted, at every level at once: where a database finds much, draft models are right
more often, too. Figures pooled over all texts lose that. A pool counts rounds, so hard texts, which take the most
rounds, count most, and the more so the lower the level. So texts are grouped by how easy they were, each group has its
own acceptances, and a prediction is the mean of the groups', weighted by their share of the emitted tokens.

A limit of the groups: above a model over a database, the tokens that it took from the database survive far more often
than its own, and the law has one figure for both. At small lookaheads, where calls return many tokens only when the
database was right, such stacks are faster than predicted (by a sixth for ``db > small:2 > target`` on the shipped
ladder, by less with every token of lookahead).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.affine import MOST, Affine, check_limits
from hsd_viz.latency.inputs import Calibration, LevelCost
from hsd_viz.latency.select import Choice, Hierarchy, join, refine, select, split
from hsd_viz.latency.vectorised import Law, Prediction
from hsd_viz.serialize import Record
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.words import check_range


@dataclass(frozen=True, slots=True)
class Mixture(Record):
    """Calibrations of several kinds of text. ``parts`` are (share of the tokens, calibration); the shares sum to 1.
    ``pooled`` is the calibration over all texts, and without parts the only kind of text.
    """

    pooled: Calibration
    parts: tuple[tuple[float, Calibration], ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", ((1.0, self.pooled),))

    def each(self, change: Callable[[Calibration], Calibration]) -> Mixture:
        """Return the mixture with ``change`` applied to the pool and to every part."""
        return Mixture(change(self.pooled), tuple((weight, change(part)) for weight, part in self.parts))

    def priced(self, costs: Mapping[str, LevelCost]) -> Mixture:
        """Return the same acceptances with other ``costs``, by model."""
        return self.each(lambda calibration: replace(calibration, costs=costs))


class MixedLaw:
    """The law over a mixture, for whole stacks: a :class:`~hsd_viz.latency.select.Predictor`."""

    def __init__(self, mixture: Mixture) -> None:
        self.mixture = mixture
        self.calibration = mixture.pooled
        self._weights = np.array([weight for weight, _ in mixture.parts])
        self._laws = [Law(part) for _, part in mixture.parts]

    def predict(self, stack: Stack | str) -> Prediction:
        """As :meth:`Law.predict`; the acceptance length is tokens per target forward pass over all texts."""
        stack = parse(stack) if isinstance(stack, str) else stack
        each = [law.predict(stack) for law in self._laws]
        mean = lambda values: self._weights @ np.array(values)
        ms = float(mean([p.ms_per_token for p in each]))
        forwards = mean([p.forwards_per_token for p in each])
        spent = mean([np.array(p.share) * p.ms_per_token for p in each])
        share = spent / ms if ms else spent
        length = 1 / float(forwards[-1])
        return Prediction(str(stack), each[0].names, ms, tuple(forwards.tolist()), tuple(share.tolist()), length)

    def plane(
        self, database: str | None, drafts: tuple[str, ...], lookaheads: tuple[int, ...], place: int, most: int
    ) -> NDArray[Any]:
        """As :meth:`Law.plane`."""
        planes = [law.plane(database, drafts, lookaheads, place, most) for law in self._laws]
        return np.tensordot(self._weights, np.array(planes), 1)


def choose(mixture: Mixture, *, most: int = MOST, max_levels: int | None = None) -> Choice:
    """Return the fastest stack over a mixture.

    :func:`~hsd_viz.latency.select.select` proposes hierarchies for the pool and for each part; their lookaheads are
    then refined on the mixture, by which they are ranked. ``max_levels`` bounds the parts of a stack, database and
    target included. The affine pick is the pool's; ``affine_exact`` is the mixture's prediction for it.
    """
    check_limits(most)
    if max_levels is not None:
        check_range("the number of levels", max_levels, 1)
    law, target = MixedLaw(mixture), mixture.pooled.target
    seeds: list[Affine] = []
    starts: dict[Hierarchy, tuple[int, ...]] = {(None, ()): ()}
    for calibration in (mixture.pooled, *(part for _, part in mixture.parts)):
        for choice in _proposals(calibration, most, max_levels):
            if calibration is mixture.pooled:
                seeds.append(choice.affine)
            for proposed in (*choice.ranked, choice.affine_exact):
                hierarchy, lookaheads = split(parse(proposed.stack))
                starts.setdefault(hierarchy, lookaheads)
    found = []
    for hierarchy, lookaheads in starts.items():
        if lookaheads:
            ms = law.predict(join(hierarchy, lookaheads, target)).ms_per_token
            lookaheads = refine(law, hierarchy, (ms, lookaheads), most)[1]
        found.append(law.predict(join(hierarchy, lookaheads, target)))
    return Choice.of(law, found, min(seeds, key=lambda s: s.ms_per_token))


def fill(stack: Stack, mixture: Mixture, *, most: int = MOST) -> Stack:
    """Return the stack with its left-out lookaheads set to the fastest by the law, one at a time until none improves.
    Raises: ValueError: if something of the stack was not measured.
    """
    law = MixedLaw(mixture)
    places = [k for k, draft in enumerate(stack.drafts) if draft.lookahead is None]
    now = stack.resolved(min(4, most))
    best = law.predict(now).ms_per_token
    unchanged = 0
    while places and unchanged < len(places):
        place, unchanged = places[0], unchanged + 1
        places.append(places.pop(0))
        for g in range(1, most + 1):
            models = (*now.models[:place], Model(now.models[place].name, g), *now.models[place + 1 :])
            ms = law.predict(Stack(now.bottom, models)).ms_per_token
            if ms < best * (1 - 1e-12):
                best, unchanged, now = ms, 0, Stack(now.bottom, models)
    return now


def _proposals(calibration: Calibration, most: int, max_levels: int | None) -> Iterator[Choice]:
    """Yield the selections without a database and with one, which takes one of the levels."""
    alone = calibration.restricted(databases=())
    yield select(alone, most=most, max_drafts=None if max_levels is None else max_levels - 1)
    if calibration.databases and (max_levels is None or max_levels > 1):
        yield select(calibration, most=most, max_drafts=None if max_levels is None else max_levels - 2)
