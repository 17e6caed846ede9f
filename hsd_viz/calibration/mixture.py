"""The law over several kinds of text: a law for each, mixed.

Texts differ in how easily they are drafted, and they differ at every level at once: where a database finds much, draft models are
right too. Figures pooled over all texts do not know that. A pool counts rounds, so hard texts, which take the most rounds, count
most; and they count the more the lower the level. So texts are put into groups by how easy they turned out to be, each
group has acceptances of its own, and a prediction is the mean of the groups', by their share of the emitted tokens.

What groups cannot mend: of a model over a database, the tokens that it took from the database survive above far more often than its own,
and the law knows one figure for both. At small lookaheads, where batches are long only when the database was right, such stacks are
faster than they are said to be (by a sixth for ``db > small:2 > target`` on the shipped ladder, by less with every token of lookahead).

A group has few rounds: what it says is mixed with the pool, which counts as if it had been seen in ``PRIOR`` rounds there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.calibration.estimate import Estimates, rounds_of
from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.affine import MOST, Affine, allow, stack_of
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, refine, select
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.trace import RoundRow, Trace
from hsd_viz.trace.metrics import target_round_of

PRIOR = 3.0
#: Texts to a group, and the most groups.
GROUP, GROUPS = 4, 8
#: Emitted tokens to a stretch of a text.
STRETCH = 16
#: Places of a draft that a group tells of by itself; behind them the pool's figure stands.
_PLACES = 24


@dataclass(frozen=True, slots=True)
class Mixture:
    """``parts`` are (share of the tokens, calibration); the shares sum to 1. ``pooled`` is the calibration over all texts."""

    pooled: Calibration
    parts: tuple[tuple[float, Calibration], ...]

    @classmethod
    def of(cls, pooled: Calibration) -> Mixture:
        """One kind of text."""
        return cls(pooled, ((1.0, pooled),))

    def each(self, change: Callable[[Calibration], Calibration]) -> Mixture:
        """The mixture with the pool and every part changed alike."""
        return Mixture(change(self.pooled), tuple((weight, change(part)) for weight, part in self.parts))

    def priced(self, costs: Mapping[str, LevelCost]) -> Mixture:
        """The same acceptances at other ``costs``, by model."""
        return self.each(lambda calibration: replace(calibration, costs=costs))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {"pooled": self.pooled.to_dict(), "parts": [[share, part.to_dict()] for share, part in self.parts]}

    @classmethod
    def from_dict(cls, data: Any) -> Mixture:
        """The inverse of :meth:`to_dict`; without parts one kind of text. Raises ``ValueError`` with one sentence for anything else."""
        try:
            pooled = Calibration.from_dict(data["pooled"])
            parts = tuple((float(share), Calibration.from_dict(part)) for share, part in data["parts"])
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"this is no mixture of calibrations: its parts are not of the form of one ({type(error).__name__})"
            ) from None
        return cls(pooled, parts) if parts else cls.of(pooled)


class MixedLaw:
    """The law over a mixture; what :class:`~hsd_viz.latency.law.Law` has, as far as it is asked for a whole stack."""

    def __init__(self, mixture: Mixture) -> None:
        self.mixture = mixture
        self.calibration = mixture.pooled
        self._weights = np.array([weight for weight, _ in mixture.parts])
        self._laws = [Law(part) for _, part in mixture.parts]

    def predict(self, stack: Stack | str) -> Prediction:
        """As :meth:`hsd_viz.latency.law.Law.predict`; the acceptance length is tokens over target forwards, of all texts together."""
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
        self, bottom: str | None, drafts: tuple[str, ...], lookaheads: tuple[int, ...], place: int, most: int
    ) -> NDArray[np.float64]:
        """As :meth:`hsd_viz.latency.law.Law.plane`."""
        return np.tensordot(
            self._weights, np.array([law.plane(bottom, drafts, lookaheads, place, most) for law in self._laws]), 1
        )


def mixture(texts: Sequence[Sequence[Trace]], found: Estimates, *, prior: float = PRIOR) -> Mixture:
    """Groups of texts (or of their :func:`stretches`) by ease; ``found`` is estimated from all of them.

    ``texts[k]`` are the traces of one text, by the same stacks for each.

    Easier is a text whose target rounds brought more tokens.
    """
    pooled = found.calibration()
    order = sorted((t for t in texts if any(len(trace.token_rows) for trace in t)), key=_ease)
    count = min(GROUPS, max(1, len(order) // GROUP))
    bounds = [round(k * len(order) / count) for k in range(count + 1)]
    groups = [[trace for text in order[a:b] for trace in text] for a, b in pairwise(bounds)]
    tokens = [sum(len(trace.token_rows) for trace in group) for group in groups]
    if not sum(tokens) or count == 1:
        return Mixture.of(pooled)
    parts = []
    for group, n in zip(groups, tokens, strict=True):
        rounds, looked_up = rounds_of(group)
        edges = {pair: _edge(rounds.get(pair, ()), pool, prior) for pair, pool in pooled.edges.items()}
        tiers = {pair: _tier(looked_up.get(pair, Counter()), pool, prior) for pair, pool in pooled.tiers.items()}
        parts.append((n / sum(tokens), replace(pooled, edges=edges, tiers=tiers)))
    return Mixture(pooled, tuple(parts))


def stretches(text: Sequence[Trace], length: int = STRETCH) -> list[list[Trace]]:
    """The traces of one text cut into stretches of ``length`` emitted tokens: a text that begins hard may end in repetition.

    Only where every stack wrote the same text, as under greedy decoding, do equal places mean the same words. A target round and
    all rounds below it belong to the stretch of its first token.
    """
    cut: dict[int, list[Trace]] = {}
    for trace in text:
        owner, first = target_round_of(trace.round_rows), {}
        for token in trace.token_rows:
            first.setdefault(token.round, token.index // length)
        parts: dict[int, Trace] = {}
        for place in sorted(set(first.values())):
            parts[place] = Trace(trace.meta)
            parts[place].call_rows = trace.call_rows
            cut.setdefault(place, []).append(parts[place])
        for token in trace.token_rows:
            parts[first[token.round]].token_rows.append(token)
        for row in trace.round_rows:
            if owner[row.id] in first:
                parts[first[owner[row.id]]].round_rows.append(row)
    return list(cut.values())


def _ease(text: Sequence[Trace]) -> float:
    tokens = sum(len(trace.token_rows) for trace in text)
    return tokens / max(1, sum(r.parent is None for trace in text for r in trace.round_rows))


def _edge(rows: Sequence[RoundRow], pool: Edge, prior: float) -> Edge:
    """Conditional acceptance place by place (as the pool has it), ``prior`` looks of the pool's added to the group's own."""
    whole = pool.curve(_PLACES)
    survival, kept = [], 1.0
    for k in range(1, _PLACES + 1):
        looked = sum(r.examined >= k for r in rows)
        expected = float(whole[k] / whole[k - 1]) if whole[k - 1] > 0 else pool.tail
        kept *= (sum(r.accepted >= k for r in rows) + prior * expected) / (looked + prior)
        survival.append(kept)
    return Edge(tuple(survival), pool.tail)


def _tier(counts: Counter, pool: Tier, prior: float) -> Tier:
    seen = Counter({(m, a): prior * chance for m, a, chance in pool.outcomes})
    seen.update(counts)
    total = sum(seen.values())
    return Tier(tuple((m, a, n / total) for (m, a), n in sorted(seen.items())))


def choose(mixture: Mixture, *, most: int = MOST, max_levels: int | None = None) -> Choice:
    """The fastest stack over a mixture.

    :func:`~hsd_viz.latency.select.select` proposes hierarchies for the pool and for each part; their lookaheads are then refined on
    the mixture, by which they are ranked. ``max_levels`` bounds the parts of a stack, database and target included. The affine
    pick is the pool's; ``affine_exact`` is what the mixture says of it.
    """
    allow(most, None)
    if max_levels is not None and max_levels < 1:
        raise ValueError(f"the number of levels is at least 1, not {max_levels}")
    law, target = MixedLaw(mixture), mixture.pooled.target
    seeds: list[Affine] = []
    starts: dict[tuple, tuple[int, ...]] = {(None, ()): ()}
    for calibration in (mixture.pooled, *(part for _, part in mixture.parts)):
        for choice in _proposals(calibration, most, max_levels):
            if calibration is mixture.pooled:
                seeds.append(choice.affine)
            for proposed in (*choice.ranked, choice.affine_exact):
                stack = parse(proposed.stack)
                bottom = None if stack.bottom is None else str(stack.bottom)
                starts.setdefault(
                    (bottom, tuple(m.name for m in stack.drafts)), tuple(m.lookahead for m in stack.drafts)
                )
    found = []
    for way, lookaheads in starts.items():
        if lookaheads:
            begun = law.predict(_stack(way, lookaheads, target)).ms_per_token
            lookaheads = refine(law, way, (begun, lookaheads), most)[1]
        found.append(law.predict(_stack(way, lookaheads, target)))
    ranked = tuple(sorted(found, key=lambda p: p.ms_per_token))
    single = [p for p in ranked if (s := parse(p.stack)).bottom is None and len(s.drafts) == 1]
    seed = min(seeds, key=lambda s: s.ms_per_token)
    plain = law.predict(stack_of(None, (), target))
    return Choice(ranked[0], plain, single[0] if single else None, seed, law.predict(seed.stack), ranked)


def fill(stack: Stack, mixture: Mixture, *, most: int = MOST) -> Stack:
    """The stack with its left-out lookaheads set to what is fastest by the law, one after the other until nothing gets better.

    Those that are written stay. Raises ``ValueError`` where something of the stack was not measured.
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
    """Selections without a database and with; a database takes one of the levels."""
    yield select(calibration, most=most, max_drafts=None if max_levels is None else max_levels - 1, bottoms=())
    if calibration.bottoms and (max_levels is None or max_levels > 1):
        yield select(calibration, most=most, max_drafts=None if max_levels is None else max_levels - 2)


def _stack(way: tuple[str | None, tuple[str, ...]], lookaheads: tuple[int, ...], target: str) -> Stack:
    return stack_of(way[0], tuple(zip(way[1], lookaheads, strict=True)), target)
