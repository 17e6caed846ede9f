"""Select the fastest stack on the exact law, seeded by the affine pick, and report how sensitive the choice is.

The exact law has no optimal substructure (the overshoot of a level matters above it), so every subset of the draft
models is built up, over nothing and over each database, with the best few settings of its lookaheads. Those far behind
the best one to the same model are dropped. The best stacks that result, and the affine pick, are then refined by
changing two neighbouring lookaheads at a time until nothing improves. Plain decoding, databases only and a single draft
model are stacks like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.affine import MOST, Affine, affine, check_limits, stack_of
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.recursion import CallDistribution, RoundDistribution, drafting, repeat_rounds, verify
from hsd_viz.latency.vectorised import Law, Prediction
from hsd_viz.stack import Stack, parse

#: Settings of the lookaheads that are followed per subset.
BEAM = 3
#: A subset this much slower than the best to the same model is dropped.
MARGIN = 0.25
#: Stacks refined at the end, and alternatives named by :meth:`Choice.explain`.
REFINED, RUNNERS_UP = 3, 3

#: A database or ``None``, and draft models, smallest first: all of a stack but its lookaheads and the target.
Hierarchy = tuple[str | None, tuple[str, ...]]


class Predictor(Protocol):
    """A law of one calibration or of several."""

    calibration: Calibration

    def predict(self, stack: Stack | str) -> Prediction: ...

    def plane(
        self, database: str | None, drafts: tuple[str, ...], lookaheads: tuple[int, ...], place: int, most: int
    ) -> NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The fastest stack and its alternatives. ``ranked`` has the best setting of every subset of models that was
    followed to the end, fastest first; ``affine`` is the affine form's pick with its affine value, ``affine_exact`` the
    exact law's prediction for that stack.
    """

    picked: Prediction
    plain: Prediction
    best_single_draft: Prediction | None
    affine: Affine
    affine_exact: Prediction
    ranked: tuple[Prediction, ...]

    @classmethod
    def of(cls, law: Predictor, ranked: Iterable[Prediction], seed: Affine) -> Choice:
        """Rank predictions by ``law``; ``seed`` is the affine pick."""
        ranked = tuple(sorted(ranked, key=lambda p: p.ms_per_token))
        single = [p for p in ranked if (s := parse(p.stack)).bottom is None and len(s.drafts) == 1]
        plain = law.predict(stack_of(None, (), law.calibration.target))
        return cls(ranked[0], plain, single[0] if single else None, seed, law.predict(seed.stack), ranked)

    @property
    def kind(self) -> str:
        """``plain``, ``databases only``, ``one draft`` or ``hierarchy`` (more than one source of drafts)."""
        stack = parse(self.picked.stack)
        if not stack.drafts:
            return "plain" if stack.bottom is None else "databases only"
        return "one draft" if stack.bottom is None and len(stack.drafts) == 1 else "hierarchy"

    def explain(self) -> str:
        """Return the choice in a few lines."""
        picked, single = self.picked, self.best_single_draft
        gain = f"{picked.gain_over(self.plain):+.1%} over plain decoding"
        lines = [f"{picked.stack}: {picked.ms_per_token:.4g} ms/token, {gain}"]
        others = [("best single draft ", single)] if single is not None and single != picked else []
        named = {picked.stack, *(p.stack for _, p in others)}
        others += [("then ", p) for p in [p for p in self.ranked if p.stack not in named][:RUNNERS_UP]]
        for what, p in others:
            faster = f"the pick is {picked.gain_over(p):.1%} faster"
            lines.append(f"{what}{p.stack}: {p.ms_per_token:.4g} ms/token, {faster}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The effect of one wrong figure: ``what`` was changed, and the pick after the change. ``regret`` is the share by
    which the old pick is slower than the new one, 0 where the pick stays.
    """

    what: str
    picked: str
    regret: float


def select(calibration: Calibration, *, most: int = MOST, max_drafts: int | None = None) -> Choice:
    """Return the fastest stack by the exact law. Arguments as for :func:`~hsd_viz.latency.affine.affine`."""
    check_limits(most, max_drafts)
    law, target = Law(calibration), calibration.target
    seed = affine(calibration, most=most, max_drafts=max_drafts)
    found: dict[Hierarchy, tuple[float, tuple[int, ...]]] = {}
    for database in (None, *calibration.databases):
        for drafts, ms, lookaheads in _search(law, database, most, max_drafts):
            found[database, drafts] = ms, lookaheads
    seeded, start = split(seed.stack)
    ms = law.predict(seed.stack).ms_per_token
    if seeded not in found or ms < found[seeded][0]:
        found[seeded] = ms, start

    order = sorted(found, key=lambda hierarchy: found[hierarchy][0])
    for hierarchy in dict.fromkeys([*order[:REFINED], seeded]):
        found[hierarchy] = refine(law, hierarchy, found[hierarchy], most)
    return Choice.of(law, (law.predict(join(h, lookaheads, target)) for h, (_, lookaheads) in found.items()), seed)


def sensitivities(
    choice: Choice, calibration: Calibration, *, acceptance: float = 0.05, cost: float = 0.2, **limits
) -> tuple[Sensitivity, ...]:
    """Return how the pick changes if one figure is off, worst first. One at a time, each pair's conditional acceptance
    is moved by +-``acceptance`` and each model's cost by +-``cost`` (a share). ``limits`` are those given to
    :func:`select`; each changed figure takes a selection.
    """
    out = []
    for what, changed in _changes(calibration, acceptance, cost):
        now = select(changed, **limits).picked
        kept = Law(changed).predict(choice.picked.stack)
        out.append(Sensitivity(what, now.stack, max(0.0, kept.ms_per_token / now.ms_per_token - 1)))
    return tuple(sorted(out, key=lambda s: -s.regret))


def _changes(calibration: Calibration, acceptance: float, cost: float) -> Iterator[tuple[str, Calibration]]:
    for kind in ("edges", "tiers"):
        measured = getattr(calibration, kind)
        for (draft, verifier), one in measured.items():
            for by in (-acceptance, acceptance):
                changed: dict[str, Any] = {kind: {**measured, (draft, verifier): one.shifted(by)}}
                yield f"acceptance of {draft} by {verifier} {by:+.2f}", replace(calibration, **changed)
    for model, one in calibration.costs.items():
        for by in (-cost, cost):
            costs = {**calibration.costs, model: one.scaled(1 + by)}
            yield f"cost of {model} {by:+.0%}", replace(calibration, costs=costs)


def split(stack: Stack) -> tuple[Hierarchy, tuple[int, ...]]:
    """Return the hierarchy of a stack, and its lookaheads (left out: 1)."""
    database = None if stack.bottom is None else str(stack.bottom)
    return (database, tuple(m.name for m in stack.drafts)), tuple(m.lookahead or 1 for m in stack.drafts)


def join(hierarchy: Hierarchy, lookaheads: Sequence[int], target: str) -> Stack:
    """Return the stack of a hierarchy with these lookaheads: the inverse of :func:`split`."""
    return stack_of(hierarchy[0], tuple(zip(hierarchy[1], lookaheads, strict=True)), target)


@dataclass(slots=True)
class _Partial:
    """One subset of draft models up to ``drafts[-1]``: calls of that model per setting of the lookaheads (rows)."""

    drafts: tuple[str, ...]
    lookaheads: NDArray[np.intp]
    calls: CallDistribution


def _search(
    law: Law, database: str | None, most: int, max_drafts: int | None
) -> Iterator[tuple[tuple[str, ...], float, tuple[int, ...]]]:
    """Yield draft models, ms per token and lookaheads: the best setting of each subset that is not dropped."""
    calibration, steps = law.calibration, np.arange(1, most + 1)
    limit = len(calibration.models) - 1 if max_drafts is None else max_drafts
    partials: dict[str, list[_Partial]] = {}
    for place, model in enumerate(calibration.models):
        is_target = model == calibration.target
        source, cost = database if is_target else None, calibration.costs[model]
        # This model as a target: (ms of the best settings, drafts, lookaheads below, the round).
        here: list[tuple[NDArray[Any], tuple[str, ...], NDArray[np.intp], RoundDistribution]] = []
        if (is_target and database is None) or (database, model) in calibration.tiers:
            top = law.round(database, ((model, None),))
            here.append((law.times(top, source).sum(-1)[None], (), np.zeros((1, 0), int), top.index((None,))))
        below = [(b, p) for b in calibration.models[:place] if (b, model) in calibration.edges for p in partials[b]]
        for draft, partial in below:
            survival = law.curve(draft, model, partial.calls.sizes.shape[-1])
            top = verify(partial.calls, survival, cost, law.reach)
            ms = law.times(top, source).sum(-1)
            best = np.argsort(ms, kind="stable")[:BEAM]
            here.append((ms[best], partial.drafts, partial.lookaheads[best], top.index(best)))
        if is_target:
            for ms, drafts, lookaheads, _ in here:
                yield drafts, float(ms[0]), tuple(int(g) for g in lookaheads[0])
            return
        partials[model] = []
        if database is None and limit >= 1:
            partials[model].append(_Partial((model,), steps[:, None], drafting(steps, cost, law.reach)))
        bound = min((ms[0] for ms, *_ in here), default=0.0) * (1 + MARGIN)
        for ms, drafts, lookaheads, top in here:
            if ms[0] <= bound and len(drafts) < limit:
                calls = repeat_rounds(top, most, every=True).flatten(2)
                settings = np.concatenate([np.repeat(lookaheads, most, 0), np.tile(steps, len(lookaheads))[:, None]], 1)
                partials[model].append(_Partial((*drafts, model), settings, calls))


def refine(
    law: Predictor, hierarchy: Hierarchy, start: tuple[float, tuple[int, ...]], most: int
) -> tuple[float, tuple[int, ...]]:
    """Set two neighbouring lookaheads at a time to their best values until nothing improves. ``start`` and the result
    are (ms per token, lookaheads).
    """
    drafts = hierarchy[1]
    ms, lookaheads = start
    pairs = max(1, len(drafts) - 1) if drafts else 0
    unchanged, place = 0, pairs - 1
    while unchanged < pairs:
        values = law.plane(*hierarchy, lookaheads, place, most)
        at = np.unravel_index(int(values.argmin()), values.shape)
        unchanged += 1
        if values[at] < ms * (1 - 1e-12):
            ms, unchanged = float(values[at]), 1
            lookaheads = (*lookaheads[:place], *(int(g) + 1 for g in at), *lookaheads[place + len(at) :])
        place = (place - 1) % pairs
    return ms, lookaheads
