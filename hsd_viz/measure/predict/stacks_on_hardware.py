"""All stacks of some models on other hardware, by the latency law.

An interval contains the values of a figure if every acceptance is off by its uncertainty. Errors of
step times mostly cancel in a speed-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.inputs import Calibration, Edge, LookupCost, Tier
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import StackChoice, select
from hsd_viz.latency.shapes import Shape
from hsd_viz.latency.speedup import bounded
from hsd_viz.measure.predict.assumed_acceptance import Acceptance, Assumption
from hsd_viz.measure.predict.hardware_plan import (
    BATCHES,
    HardwarePlan,
    HardwareRow,
    PresentLength,
    SecondDraft,
    SingleDraft,
)
from hsd_viz.records.engine_settings import settings_to_paste
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.stack import DATABASE, ModelPart, Stack

#: Names of draft heads with one layer of the target, such as EAGLE-3 and MTP, usable as models.
HEADS = ("eagle", "eagle3", "mtp")
#: Relative uncertainty of step times: the largest held-out error of a GPU.
STEP_ERROR = 0.18
#: The assumed database: share of rounds with a draft, draft length, acceptance of each token, its
#: uncertainty, and milliseconds of a look-up.
HIT = 0.3
LENGTH = 4
DATABASE_ACCEPTANCE = 0.7
DATABASE_BAND = 0.1
LOOKUP_MS = 0.02
#: Contexts among which a break-even is searched.
CONTEXTS = tuple(2**k for k in range(9, 18))


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The limits between which a single draft model pays; ``None``: none that fits.

    Attributes:
        batch: the smallest batch, at the first context, at which the model no longer pays.
        context: the smallest context, at the largest batch, at which the model pays.
        most_batch: the largest batch that fits; 0: none.
    """

    batch: int | None
    context: int | None
    most_batch: int


@dataclass(frozen=True, slots=True)
class StacksOnHardware:
    """Models on a machine.

    Attributes:
        machine: the machine.
        models: the shapes of the models, by name.
        order: the names of the models, from the smallest to the target.
        edges: the acceptance of each pair.
        databases: whether to try a database below each stack.
        weights: the format of all weights.
        cache: the format of the KV caches.
    """

    machine: Machine
    models: Mapping[str, Shape]
    order: tuple[str, ...]
    edges: Mapping[tuple[str, str], Acceptance]
    databases: bool
    weights: str
    cache: str

    def calibration(self, batch: int, context: int, shift: float = 0.0) -> Calibration:
        """Return the inputs of the law, with acceptances shifted by ``shift`` uncertainties."""
        costs = {}
        for name, shape in self.models.items():
            costs[name] = self.machine.cost(
                shape, batch=batch, context=context, weights=self.weights, cache=self.cache
            )
        moved = {pair: acceptance.moved(shift) for pair, acceptance in self.edges.items()}
        if not self.databases:
            return Calibration(self.order, costs, moved)
        tier = _assumed_tier(shift)
        tiers = {(DATABASE, name): tier for name in self.order}
        lookups = {DATABASE: LookupCost(LOOKUP_MS * batch)}
        return Calibration(self.order, costs, moved, tiers, lookups)

    def fits(self, names: Iterable[str], batch: int, context: int) -> bool:
        """Return whether models and their KV caches fit into the memory."""
        shapes = tuple(self.models[name] for name in names if name in self.models)
        share = self.machine.memory_share(
            shapes, batch=batch, context=context, weights=self.weights, cache=self.cache
        )
        return share <= 1

    def row(
        self, at: Prediction, plain: Prediction, laws: Sequence[Law], batch: int, context: int
    ) -> HardwareRow:
        """Return the row of a stack.

        Args:
            at: the prediction of the stack.
            plain: the prediction of plain decoding.
            laws: the law at the lower and at the upper ends of all acceptances.
            batch: the number of sequences decoded together.
            context: the number of cached tokens per sequence.
        """
        ratio = plain.ms_per_token / at.ms_per_token
        speedups = []
        longest = 0.0
        for law in laws:
            moved = law.predict(at.levels)
            speedups.append(law.predict(plain.levels).ms_per_token / moved.ms_per_token)
            longest = max(longest, moved.acceptance_length)
        low, high = sorted(speedups)
        rate = batch * 1e3 / at.ms_per_token
        error = 1 + STEP_ERROR
        return HardwareRow(
            stack=at.stack,
            levels=at.levels,
            batch=batch,
            context=context,
            ms_per_step=at.ms_per_token * at.acceptance_length,
            tokens_per_second=Estimate(
                value=rate, low=rate * low / ratio / error, high=rate * high / ratio * error
            ),
            speedup_over_plain=bounded(Estimate(ratio, low, high), longest).estimate,
            acceptance_length=at.acceptance_length,
            fits=self.fits(at.names, batch, context),
        )

    def single_draft(self, pick: Prediction, batch: int, context: int) -> SingleDraft:
        """Return the fastest stack of at most one draft model, with the present draft length."""
        lookahead = 0
        if pick.levels.drafts:
            lookahead = fixed_lookahead(pick.levels.drafts[0])
        present = None
        length = self._present_length()
        if length is not None:
            law = Law(self.calibration(batch, context))
            draft, target = self.order
            now = law.predict(Stack(None, (ModelPart(draft, length), ModelPart(target))))
            present = PresentLength(length, max(0.0, 1 - pick.ms_per_token / now.ms_per_token))
        return SingleDraft(batch, context, pick.stack, lookahead, present)

    def _present_length(self) -> int | None:
        """Return the present draft length: that of a profile, or that stated by a draft head."""
        if len(self.order) != 2:
            return None
        for acceptance in self.edges.values():
            positions = len(acceptance.edge.survival)
            if positions:
                return positions if positions < 64 else None
        stated = self.models[self.order[0]].lookahead
        return stated if 0 < stated < 64 else None

    def pays(self, name: str, batch: int, context: int) -> bool:
        """Return whether a single draft model is faster than plain decoding."""
        if (name, self.order[-1]) not in self.edges:
            return False
        alone = self.calibration(batch, context).restricted([name], [])
        return bool(select(alone).picked.levels.drafts)

    def break_even(self, name: str, batch: Sequence[int], context: Sequence[int]) -> BreakEven:
        """Return the limits between which a single draft model pays."""
        both = (name, self.order[-1])
        first_context = context[0]
        largest_batch = max(batch)
        batches = [tried for tried in BATCHES if self.fits(both, tried, first_context)]
        contexts = [tried for tried in CONTEXTS if self.fits(both, largest_batch, tried)]
        return BreakEven(
            batch=_first(batches, lambda tried: not self.pays(name, tried, first_context)),
            context=_first(contexts, lambda tried: self.pays(name, largest_batch, tried)),
            most_batch=max(batches, default=0),
        )

    def plan(
        self, batch: Sequence[int], context: Sequence[int], assumptions: Sequence[Assumption]
    ) -> HardwarePlan:
        """Return the plan over all batches and contexts."""
        rows: list[HardwareRow] = []
        best: list[HardwareRow] = []
        gains: list[SecondDraft] = []
        lookaheads: list[SingleDraft] = []
        single_drafts: list[Stack] = []
        for sequences, tokens in product(batch, context):
            choice = select(self.calibration(sequences, tokens))
            ranked = self._rows(choice, sequences, tokens)
            rows += ranked
            best.append(_first_that_fits(ranked))
            gain = _second_draft(choice, sequences, tokens)
            if gain is not None:
                gains.append(gain)
            pick = _best_of_one_draft(choice)
            lookaheads.append(self.single_draft(pick, sequences, tokens))
            if pick.levels.drafts:
                single_drafts.append(pick.levels)
        evens = {name: self.break_even(name, batch, context) for name in self.order[:-1]}
        return HardwarePlan(
            gpu=self.machine.gpu.name,
            tp=self.machine.tp,
            models=tuple(self.models),
            rows=tuple(rows),
            best=tuple(best),
            break_even_batch={name: even.batch for name, even in evens.items()},
            break_even_context={name: even.context for name, even in evens.items()},
            most_batch={name: even.most_batch for name, even in evens.items()},
            second_draft_gain=tuple(gains),
            lookaheads=tuple(lookaheads),
            settings=settings_of_stack(
                single_drafts[0] if single_drafts else Stack(None, (ModelPart(self.order[-1]),)),
                lookaheads,
                self.models,
            ),
            assumptions=tuple(assumptions),
        )

    def _rows(self, choice: StackChoice, batch: int, context: int) -> list[HardwareRow]:
        """Return the rows of all stacks at a batch and a context, fastest first."""
        laws = [Law(self.calibration(batch, context, shift)) for shift in (-1.0, 1.0)]
        return [self.row(stack, choice.plain, laws, batch, context) for stack in choice.ranked]


def _assumed_tier(shift: float) -> Tier:
    """Return the assumed database, with its acceptance shifted by ``shift`` uncertainties."""
    stops = Edge(tail=DATABASE_ACCEPTANCE + shift * DATABASE_BAND).stops(LENGTH)
    outcomes = [(0, 0, 1 - HIT)]
    for accepted, chance in enumerate(stops):
        outcomes.append((LENGTH, accepted, HIT * chance))
    return Tier(tuple(outcomes))


def _best_of_one_draft(choice: StackChoice) -> Prediction:
    """Return the faster of plain decoding and the best single draft, as serving engines run it."""
    single = choice.best_single_draft
    if single is None or choice.plain.ms_per_token <= single.ms_per_token:
        return choice.plain
    return single


def _first_that_fits(rows: Sequence[HardwareRow]) -> HardwareRow:
    """Return the fastest stack that fits into the memory; if none does, the fastest of all."""
    for row in rows:
        if row.fits:
            return row
    return rows[0]


def _first(tried: Iterable[int], holds: Callable[[int], bool]) -> int | None:
    for value in tried:
        if holds(value):
            return value
    return None


def _second_draft(choice: StackChoice, batch: int, context: int) -> SecondDraft | None:
    """Return the gain of the best hierarchy of two draft models over the best single draft;
    ``None`` if there is no such hierarchy.
    """
    single = choice.best_single_draft
    if single is None:
        return None
    for two in choice.ranked:
        if structure_of(two.levels) is Structure.DRAFTS:
            best = min([single, choice.plain], key=lambda prediction: prediction.ms_per_token)
            return SecondDraft(batch, context, two.stack, best.stack, two.gain_over(best))
    return None


def fixed_lookahead(draft: ModelPart) -> int:
    """Return the lookahead of a draft model; 1 if it is not written."""
    return draft.lookahead if isinstance(draft.lookahead, int) else 1


def settings_of_stack(
    stack: Stack,
    lookaheads: Sequence[SingleDraft] = (),
    models: Mapping[str, Shape] | None = None,
) -> dict[str, str]:
    """Return the settings of serving engines for a stack with one draft model.

    Args:
        stack: the stack.
        lookaheads: the draft length by batch, for engines that change it.
        models: shapes by name, which state the kind of a draft head.
    """
    if not stack.drafts:
        return settings_to_paste("plain", 0)
    by_batch = []
    for single in lookaheads:
        if single.context == lookaheads[0].context:
            by_batch.append((single.batch, single.lookahead))
    draft = stack.drafts[-1]
    count = fixed_lookahead(draft)
    method = ""
    if models is not None and draft.name in models:
        method = models[draft.name].method
    if not method and draft.name in HEADS:
        return settings_to_paste(draft.name, count, "HEAD", by_batch)
    return settings_to_paste(method or "draft", count, draft.name, by_batch)
