"""Which stack is fastest: the refined selector on the exact law, seeded by the affine pick, and how sure it is.

The exact law has no optimal substructure (how far a level overshoots matters above it), so a way is followed for every subset
of the draft models, over nothing and over each database, with the best few settings of its lookaheads. Ways far behind the
best one to the same model are dropped; on the affine form all but the best would be. The best stacks that come out, and the
affine pick, are then refined by changing two neighbouring lookaheads at a time until nothing improves. Plain decoding,
databases only and a single draft model are stacks like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.affine import MOST, Affine, affine, allow, stack_of
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.recursion import Call, Round, drafting, flat, hand_up, verify
from hsd_viz.stack import parse

#: Settings of the lookaheads that are followed per subset.
BEAM = 3
#: A way this much slower than the best to the same model is dropped.
MARGIN = 0.25
#: Stacks refined at the end.
REFINED = 3
RUNNERS_UP = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """The fastest stack and what stands beside it.

    ``ranked`` has the best setting of every subset of models that was followed to the end, fastest first; ``affine`` is the
    affine form's pick with its own figure, ``affine_exact`` what the exact law says of that stack.
    """

    picked: Prediction
    plain: Prediction
    best_single_draft: Prediction | None
    affine: Affine
    affine_exact: Prediction
    ranked: tuple[Prediction, ...]

    @property
    def kind(self) -> str:
        """``plain``, ``databases only``, ``one draft`` or ``hierarchy`` (of several models, or a database under models)."""
        stack = parse(self.picked.stack)
        if not stack.drafts:
            return "plain" if stack.bottom is None else "databases only"
        return "one draft" if stack.bottom is None and len(stack.drafts) == 1 else "hierarchy"

    def explain(self) -> str:
        """The choice in a few lines."""
        picked, single = self.picked, self.best_single_draft
        say = lambda what, p: (
            f"{what}{p.stack}: {p.ms_per_token:.4g} ms/token, the pick is {picked.gain_over(p):.1%} faster"
        )
        lines = [
            f"{picked.stack}: {picked.ms_per_token:.4g} ms/token, {picked.gain_over(self.plain):+.1%} over plain decoding"
        ]
        named = {picked.stack}
        if single is not None and single.stack not in named:
            lines.append(say("best single draft ", single))
            named.add(single.stack)
        return "\n".join(lines + [say("then ", p) for p in self.ranked if p.stack not in named][:RUNNERS_UP])


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What one wrong figure would change: ``what`` was changed, the pick then, and what keeping the old pick would cost.

    ``regret`` is the share by which the kept stack is slower than the new pick, 0 where the pick stays.
    """

    what: str
    picked: str
    regret: float


def select(
    calibration: Calibration,
    *,
    most: int = MOST,
    max_drafts: int | None = None,
    bottoms: Sequence[str] | None = None,
) -> Choice:
    """The fastest stack by the exact law. Arguments as for :func:`~hsd_viz.latency.affine.affine`."""
    allow(most, max_drafts)
    law, target = Law(calibration), calibration.target
    seed = affine(calibration, most=most, max_drafts=max_drafts, bottoms=bottoms)
    allowed = calibration.bottoms if bottoms is None else tuple(bottoms)
    found: dict[tuple, tuple[float, tuple[int, ...]]] = {}
    for bottom in (None, *allowed):
        for drafts, ms, lookaheads in _follow(law, bottom, most, max_drafts):
            found[bottom, drafts] = ms, lookaheads
    chosen = (None if seed.stack.bottom is None else str(seed.stack.bottom), tuple(m.name for m in seed.stack.drafts))
    start = tuple(m.lookahead for m in seed.stack.drafts)
    ms = law.predict(seed.stack).ms_per_token
    if chosen not in found or ms < found[chosen][0]:
        found[chosen] = ms, start

    order = sorted(found, key=lambda way: found[way][0])
    for way in dict.fromkeys([*order[:REFINED], chosen]):
        found[way] = refine(law, way, found[way], most)
    order.sort(key=lambda way: found[way][0])
    ranked = tuple(law.predict(_stack(way, found[way][1], target)) for way in dict.fromkeys([*order, chosen]))
    ranked = tuple(sorted(ranked, key=lambda p: p.ms_per_token))
    plain = law.predict(stack_of(None, (), target))
    single = [p for p in ranked if (s := parse(p.stack)).bottom is None and len(s.drafts) == 1]
    return Choice(ranked[0], plain, single[0] if single else None, seed, law.predict(seed.stack), ranked)


def doubts(
    choice: Choice, calibration: Calibration, *, acceptance: float = 0.05, cost: float = 0.2, **limits
) -> tuple[Sensitivity, ...]:
    """What would change if one figure were off, worst first.

    One at a time, each pair's conditional acceptance is moved by +-``acceptance`` and each model's cost by +-``cost`` (a share).
    ``limits`` are those given to :func:`select`; each changed figure takes a selection.
    """
    out = []
    for what, changed in _changes(calibration, acceptance, cost):
        now = select(changed, **limits).picked
        kept = Law(changed).predict(choice.picked.stack)
        out.append(Sensitivity(what, now.stack, max(0.0, kept.ms_per_token / now.ms_per_token - 1)))
    return tuple(sorted(out, key=lambda d: -d.regret))


def _changes(calibration: Calibration, acceptance: float, cost: float):
    for (draft, verifier), edge in calibration.edges.items():
        for by in (-acceptance, acceptance):
            edges = {**calibration.edges, (draft, verifier): edge.shifted(by)}
            yield f"acceptance of {draft} by {verifier} {by:+.2f}", replace(calibration, edges=edges)
    for (bottom, verifier), tier in calibration.tiers.items():
        for by in (-acceptance, acceptance):
            tiers = {**calibration.tiers, (bottom, verifier): tier.shifted(by)}
            yield f"acceptance of {bottom} by {verifier} {by:+.2f}", replace(calibration, tiers=tiers)
    for model, one in calibration.costs.items():
        for by in (-cost, cost):
            yield (
                f"cost of {model} {by:+.0%}",
                replace(calibration, costs={**calibration.costs, model: one.scaled(1 + by)}),
            )


# --- the search --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Way:
    """One subset of draft models up to ``drafts[-1]``: calls of that model for each setting of the lookaheads (rows)."""

    drafts: tuple[str, ...]
    lookaheads: NDArray[np.intp]
    calls: Call


def _follow(law: Law, bottom: str | None, most: int, max_drafts: int | None):
    """Yield (draft models, ms per token, lookaheads), the best setting of every subset over ``bottom`` that is worth following."""
    calibration = law.calibration
    limit = len(calibration.models) - 1 if max_drafts is None else max_drafts
    ways: dict[str, list[_Way]] = {}
    steps = np.arange(1, most + 1)
    for place, model in enumerate(calibration.models):
        target = place == len(calibration.models) - 1
        cost = calibration.costs[model]
        # (ms of the best settings, drafts, lookaheads below, the round): what this model would emit as a target.
        here = []
        if (target and bottom is None) or (bottom, model) in calibration.tiers:
            top = law.round(bottom, ((model, None),))
            here.append(
                (law.times(top, bottom if target else None).sum(-1)[None], (), np.zeros((1, 0), int), _batch(top))
            )
        for below in calibration.models[:place]:
            if (below, model) not in calibration.edges:
                continue
            for way in ways.get(below, ()):
                top = verify(way.calls, law.curve(below, model, way.calls.sizes.shape[-1]), cost, law.reach)
                ms = law.times(top, bottom if target else None).sum(-1)
                best = np.argsort(ms, kind="stable")[:BEAM]
                here.append((ms[best], way.drafts, way.lookaheads[best], top.take(best)))
        if target:
            for ms, drafts, lookaheads, _ in here:
                yield drafts, float(ms[0]), tuple(int(g) for g in lookaheads[0])
            return
        ways[model] = []
        if bottom is None and limit >= 1:
            ways[model].append(_Way((model,), steps[:, None], drafting(steps, cost, law.reach)))
        bound = min((ms[0] for ms, *_ in here), default=0.0) * (1 + MARGIN)
        for ms, drafts, lookaheads, top in here:
            if ms[0] <= bound and len(drafts) < limit:
                calls = flat(hand_up(top, most, every=True), 2)
                settings = np.concatenate([np.repeat(lookaheads, most, 0), np.tile(steps, len(lookaheads))[:, None]], 1)
                ways[model].append(_Way((*drafts, model), settings, calls))


def _batch(top: Round) -> Round:
    return Round(top.gains[None], top.backlog[None], top.time[None], top.first[None], top.forwards[None])


def refine(law: Law, way: tuple, start: tuple[float, tuple[int, ...]], most: int) -> tuple[float, tuple[int, ...]]:
    """Change two neighbouring lookaheads at a time, to whatever is best together, until nothing gets better.

    ``way`` is (bottom, draft models), ``start`` and the result are (ms per token, lookaheads). Of ``law`` only the planes are used.
    """
    drafts = way[1]
    ms, lookaheads = start
    pairs = max(1, len(drafts) - 1) if drafts else 0
    unchanged, place = 0, pairs - 1
    while unchanged < pairs:
        values = law.plane(*way, lookaheads, place, most)
        at = np.unravel_index(int(values.argmin()), values.shape)
        unchanged += 1
        if values[at] < ms * (1 - 1e-12):
            ms, unchanged = float(values[at]), 1
            lookaheads = (*lookaheads[:place], *(int(g) + 1 for g in at), *lookaheads[place + len(at) :])
        place = (place - 1) % pairs
    return ms, lookaheads


def _stack(way: tuple, lookaheads: tuple[int, ...], target: str):
    bottom, drafts = way
    return stack_of(bottom, tuple(zip(drafts, lookaheads, strict=True)), target)
