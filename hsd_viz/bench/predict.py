"""Predict speculative decoding on hardware that is not at hand: step times of :mod:`hsd_viz.latency.hardware` in the
latency law.

Every figure that is not measured is listed with its kind and source. Intervals are what the speed-up becomes if every
acceptance is off by its uncertainty; step times of the same machine cancel in a speed-up for the most part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import log2
from typing import Any

from hsd_viz.adapters import settings as engine_settings
from hsd_viz.errors import UserError
from hsd_viz.intervals import Estimate
from hsd_viz.latency import hardware
from hsd_viz.latency.hardware import Kind, Machine, Shape
from hsd_viz.latency.inputs import Calibration, Edge, LookupCost, Tier
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, select
from hsd_viz.stack import parse
from hsd_viz.tables import Table, lines
from hsd_viz.words import check_range

#: A draft head of one layer of the target, as EAGLE-3 and MTP have it; usable as a model's name.
HEADS = ("eagle", "eagle3", "mtp")
DATABASE = "db"
#: Uncertainty of an acceptance that was assumed or given, and that of step times (the worst held-aside figure of one
#: card).
ASSUMED_BAND, GIVEN_BAND, STEP_ERROR = 0.1, 0.03, 0.18
#: Assumed database: the share of rounds with a draft, its length, the acceptance of each of its tokens, and the
#: milliseconds of a look-up.
HIT, LENGTH, DATABASE_ACCEPTANCE, LOOKUP_MS = 0.3, 4, 0.7, 0.02
#: Batches and contexts among which a break-even is searched, and stacks of one of them in a table.
BATCHES, CONTEXTS, SHOWN = tuple(2**k for k in range(11)), tuple(2**k for k in range(9, 18)), 6


@dataclass(frozen=True, slots=True)
class Assumption:
    name: str
    value: float | str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    """One stack at one batch and context. ``tokens_per_second`` is over the whole batch."""

    stack: str
    batch: int
    context: int
    ms_per_step: float
    tokens_per_second: float
    tokens_per_second_ci: tuple[float, float]
    speedup_over_plain: float
    speedup_over_plain_ci: tuple[float, float]
    acceptance_length: float
    fits: bool


@dataclass(frozen=True, slots=True)
class HardwarePlan:
    """The answer: rows, and by batch and context the fastest stack, what a second draft model gains, and the best
    single draft (and what the ``present`` length of a profile ``loses``). By draft model, ``break_even_batch`` is the
    smallest batch (at the first context) at which it alone no longer pays, ``break_even_context`` the smallest context
    (at the largest batch) at which it does; ``None``: none of :data:`BATCHES`, :data:`CONTEXTS`.
    """

    gpu: str
    tp: int
    models: tuple[str, ...]
    rows: tuple[Row, ...]
    best: tuple[Row, ...]
    break_even_batch: dict[str, int | None]
    break_even_context: dict[str, int | None]
    second_draft_gain: tuple[dict[str, Any], ...]
    lookaheads: tuple[dict[str, Any], ...]
    settings: Mapping[str, str]
    assumptions: tuple[Assumption, ...]

    def answers(self) -> list[str]:
        """Return where draft models pay as lines: single ones, and two over one."""
        return lines(
            "predict.jinja",
            plan=self,
            most=max(row.batch for row in self.rows),
            largest=BATCHES[-1],
        )


def predict(
    gpu: str = "",
    models: Sequence[str] = (),
    *,
    tp: int = 1,
    weights: str = "bf16",
    cache: str = "bf16",
    batch: Sequence[int] = (1,),
    context: Sequence[int] = (2048,),
    temperature: float = 0.0,
    acceptance: Mapping[str, float | Edge] | float | Edge | None = None,
    calibrate: tuple[float, float] | None = None,
    databases: bool = True,
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
) -> HardwarePlan:
    """Predict plain decoding, each single draft, each hierarchy, and a database below each, on a GPU.

    Args:
        gpu: a name, as "H100"; or any name with ``bandwidth`` (GB/s), ``flops`` (TFLOP/s, 16 bits) and ``memory`` (GB).
        models: target first, then draft models: names, paths of a ``config.json``, or ``eagle3`` for a draft head.
        tp: cards that share each model. weights, cache: formats of all weights and of the KV caches.
        batch, context: sequences decoded together, and tokens cached for each.
        acceptance: conditional, or a survival curve (an ``Edge``), for all pairs or by "draft > verifier".
        calibrate: measured ms of a step of the target with 1 and with 8 tokens, for the first batch and context.

    Raises: ValueError: for an unknown GPU or model, or an impossible combination.
    """
    shapes = _shapes(models)
    hint = ", or give its bandwidth, FLOP rate and memory"
    machine = Machine(hardware.gpu_of(gpu, bandwidth, flops, memory, hint), tp)
    check_setting(shapes[0], tp, weights, cache, context)
    for sequences in batch:
        check_range("the batch", sequences, 1, 4096)
    check_range("the temperature", temperature, 0.0, 2.0)
    formats = {"weights": weights, "cache": cache}
    if calibrate is not None:
        machine = hardware.fitted(
            machine, shapes[0], *calibrate, batch=batch[0], context=context[0], **formats
        )
    order = tuple(
        shape.name for shape in (*sorted(shapes[1:], key=lambda shape: shape.touched(1)), shapes[0])
    )
    by_name = {shape.name: shape for shape in shapes}
    edges, assumptions = _acceptance(by_name, order, acceptance, temperature)
    return _Setting(machine, by_name, order, edges, databases, formats).plan(
        batch, context, assumptions
    )


@dataclass(frozen=True, slots=True)
class _Setting:
    """Models on a machine: ``order`` from the smallest to the target, ``edges`` acceptance and its uncertainty."""

    machine: Machine
    models: Mapping[str, Shape]
    order: tuple[str, ...]
    edges: Mapping[tuple[str, str], tuple[Edge, float]]
    databases: bool
    formats: Mapping[str, str]

    def calibration(self, b: int, c: int, shift: float = 0.0) -> Calibration:
        """Return the inputs of the law at a batch and a context, acceptances moved by ``shift`` uncertainties."""
        costs = {
            name: self.machine.cost(s, batch=b, context=c, **self.formats)
            for name, s in self.models.items()
        }
        moved = {pair: edge.shifted(shift * band) for pair, (edge, band) in self.edges.items()}
        if not self.databases:
            return Calibration(self.order, costs, moved)
        stops = Edge(tail=DATABASE_ACCEPTANCE + shift * ASSUMED_BAND).stops(LENGTH)
        tier = Tier(((0, 0, 1 - HIT), *((LENGTH, k, HIT * p) for k, p in enumerate(stops))))
        tiers, lookups = (
            {(DATABASE, name): tier for name in self.order},
            {DATABASE: LookupCost(LOOKUP_MS * b)},
        )
        return Calibration(self.order, costs, moved, tiers, lookups)

    def row(self, at: Prediction, plain: Prediction, laws: Sequence[Law], b: int, c: int) -> Row:
        held = tuple(self.models[name] for name in at.names if name in self.models)
        fits = self.machine.memory_share(held, batch=b, context=c, **self.formats) <= 1
        ratio, rate, error = (
            plain.ms_per_token / at.ms_per_token,
            b * 1e3 / at.ms_per_token,
            1 + STEP_ERROR,
        )
        low, high = sorted(
            law.predict(plain.stack).ms_per_token / law.predict(at.stack).ms_per_token
            for law in laws
        )
        rates, ms = (
            (rate * low / ratio / error, rate * high / ratio * error),
            at.ms_per_token * at.acceptance_length,
        )
        return Row(at.stack, b, c, ms, rate, rates, ratio, (low, high), at.acceptance_length, fits)

    def single_draft(self, choice: Choice, b: int, c: int) -> dict[str, Any]:
        """Return the fastest stack of at most one draft model, as serving engines run them; lookahead 0: no draft."""
        pick = min(
            (choice.plain, choice.best_single_draft or choice.plain), key=lambda p: p.ms_per_token
        )
        tokens = next((draft.lookahead for draft in parse(pick.stack).drafts), 0)
        cell = {"batch": b, "context": c, "stack": pick.stack, "lookahead": tokens}
        # A profile has as many positions as the present setting has draft tokens.
        profiles = (
            [len(edge.survival) for edge, _ in self.edges.values()] if len(self.order) == 2 else []
        )
        for present in filter(lambda tokens: 0 < tokens < 64, profiles):
            now = Law(self.calibration(b, c)).predict(
                f"{self.order[0]}:{present} > {self.order[1]}"
            )
            cell |= {
                "present": present,
                "loses": max(0.0, 1 - pick.ms_per_token / now.ms_per_token),
            }
        return cell

    def pays(self, name: str, b: int, c: int) -> bool:
        """Return whether a draft model alone is faster than none."""
        known, target = self.calibration(b, c).restricted([name], []), self.order[-1]
        return (name, target) in self.edges and select(known).picked.stack != target

    def plan(
        self, batch: Sequence[int], context: Sequence[int], assumptions: Sequence[Assumption]
    ) -> HardwarePlan:
        rows, best, gains, lookaheads = [], [], [], []
        for b, c in product(batch, context):
            choice, laws = (
                select(self.calibration(b, c)),
                [Law(self.calibration(b, c, shift)) for shift in (-1.0, 1.0)],
            )
            here = [self.row(p, choice.plain, laws, b, c) for p in choice.ranked]
            rows += here
            best.append(next((one for one in here if one.fits), here[0]))
            gains += [{"batch": b, "context": c, **gain}] if (gain := _second_draft(choice)) else []
            lookaheads.append(self.single_draft(choice, b, c))
        first = lambda tried: next((k for k, pays in tried if pays), None)
        *drafts, target = self.order
        return HardwarePlan(
            gpu=self.machine.gpu.name,
            tp=self.machine.tp,
            models=tuple(self.models),
            rows=tuple(rows),
            best=tuple(best),
            break_even_batch={
                m: first((b, not self.pays(m, b, context[0])) for b in BATCHES) for m in drafts
            },
            break_even_context={
                m: first((c, self.pays(m, max(batch), c)) for c in CONTEXTS) for m in drafts
            },
            second_draft_gain=tuple(gains),
            lookaheads=tuple(lookaheads),
            settings=settings(
                next((str(c["stack"]) for c in lookaheads if c["lookahead"]), target), lookaheads
            ),
            assumptions=(*_assumptions(self.machine, self.databases, max(batch)), *assumptions),
        )


def settings(stack: str, lookaheads: Sequence[Mapping[str, Any]] = ()) -> dict[str, str]:
    """Return the settings of serving engines for a stack with one draft model, by batch size with ``lookaheads``."""
    by_batch = [
        (c["batch"], c["lookahead"]) for c in lookaheads if c["context"] == lookaheads[0]["context"]
    ]
    if not (drafts := parse(stack).drafts):
        return engine_settings("plain", 0)
    name, tokens = drafts[-1].name, drafts[-1].lookahead
    method, model = (name, "HEAD") if name in HEADS else ("draft", name)
    return engine_settings(method, tokens if isinstance(tokens, int) else 1, model, by_batch)


def _shapes(models: Sequence[str]) -> tuple[Shape, ...]:
    if not models:
        raise UserError(
            "no models: name the target first, then its draft models, as in llama-70b,llama-8b,llama-1b"
        )
    target = hardware.shape_of(models[0])
    drafts = [
        target.head(name) if name in HEADS else hardware.shape_of(name) for name in models[1:]
    ]
    names = [shape.name for shape in (target, *drafts)]
    if len(set(names)) < len(names):
        raise UserError(f"a model is named twice in {', '.join(names)}")
    for draft in drafts:
        if draft.touched(1) >= target.touched(1):
            raise UserError(
                f"{draft.name} is not smaller than the target {target.name}: name the target first"
            )
    return (target, *drafts)


def check_setting(
    target: Shape, tp: int, weights: str, cache: str = "bf16", context: Sequence[int] = (1,)
) -> None:
    """Raise ``ValueError`` for a setting that no machine has."""
    check_range("the number of GPUs", tp, 1, 64)
    if target.heads % tp:
        raise UserError(
            f"{tp} GPUs do not divide the {target.heads} attention heads of {target.name}"
        )
    for value, known, what in (
        (weights, hardware.WEIGHTS, "weights"),
        (cache, hardware.CACHES, "KV cache"),
    ):
        if value not in known:
            raise UserError(
                f"the format '{value}' of the {what} is unknown: use {', '.join(known)}"
            )
    for tokens in context:
        check_range("the context", tokens, 1, 10_000_000)


def _acceptance(
    shapes: Mapping[str, Shape], order: Sequence[str], given: Any, temperature: float
) -> tuple[dict[tuple[str, str], tuple[Edge, float]], list[Assumption]]:
    """Return (acceptance, its uncertainty) of every pair, and what was assumed."""
    possible = [pair for pair in combinations(order, 2) if pair[1] not in HEADS]
    pairs = {f"{d} > {v}": (d, v) for d, v in possible if d not in HEADS or v == order[-1]}
    given = given if isinstance(given, Mapping) else dict.fromkeys(pairs, given)
    for key in given.keys() - pairs:
        raise UserError(
            f"'{key}' is not a pair of these models: use {', '.join(pairs) or 'a draft model'}"
        )
    edges, assumptions = {}, []
    for key, (draft, verifier) in pairs.items():
        value, band, kind = given.get(key), GIVEN_BAND, "measured"
        source = "as given: of a draft token if those before it were accepted"
        if value is None:
            larger = log2(shapes[verifier].touched(1) / shapes[draft].touched(1))
            models = min(0.95, max(0.2, 0.9 - 0.035 * larger)) - 0.05 * temperature
            value, band, kind = (
                0.7 - 0.1 * temperature if draft in HEADS else models,
                ASSUMED_BAND,
                "assumed",
            )
            source = f"± {ASSUMED_BAND:g}; measure your own pair: --acceptance '{key}=…'"
        elif not isinstance(value, Edge) and not 0 <= value < 1:
            raise UserError(
                f"the acceptance {value:g} of '{key}' is not usable: use a number from 0 to below 1"
            )
        edge = value if isinstance(value, Edge) else Edge(tail=float(value))
        edges[draft, verifier] = edge, band
        assumptions.append(
            Assumption(f"acceptance {key}", round(edge.curve(1)[1], 4), kind, source)
        )
    return edges, assumptions


def _assumptions(machine: Machine, databases: bool, batch: int) -> list[Assumption]:
    used, gpu = machine.efficiency, machine.gpu
    sheet = f"{gpu.bandwidth:g} GB/s, {gpu.flops:g} TFLOP/s, {gpu.memory:g} GB"
    fixed = f"{used.layer_us:g} + {used.reduce_us:g} µs per layer, {used.step_us:.0f} µs per step"
    unfitted = used.compute == hardware.PUBLISHED.compute
    compute: tuple[Kind, str] = ("assumed", "not fitted") if unfitted else (used.kind, used.source)
    drafts = f"drafts {LENGTH} tokens in {HIT:.0%} of the rounds, each accepted with {DATABASE_ACCEPTANCE:g}"
    waits = "sequences of a batch do not wait for each other within a round; hierarchies lose some of this"
    return [
        Assumption(gpu.name, sheet, "published", "data sheet"),
        Assumption(
            "share of the bandwidth", round(used.bandwidth["bf16"], 3), used.kind, used.source
        ),
        Assumption("share of the FLOP/s", round(used.compute, 3), *compute),
        Assumption("fixed time", fixed, used.kind, used.source),
        Assumption(
            "further time of a round", f"{used.round_us:.0f} µs", "published", hardware.ROUND_SOURCE
        ),
        *(
            [Assumption("database", drafts, "assumed", "replay your own traffic: hsd-viz replay")]
            if databases
            else []
        ),
        *(
            [Assumption("batch", waits, "assumed", "the latency law is one of single sequences")]
            if batch > 1
            else []
        ),
    ]


def _second_draft(choice: Choice) -> dict[str, Any] | None:
    """Return the gain of the best hierarchy of two draft models over the best single draft; ``None`` without one."""
    for two in choice.ranked:
        stack, single = parse(two.stack), choice.best_single_draft
        if single and stack.bottom is None and len(stack.drafts) > 1:
            best = min([single, choice.plain], key=lambda p: p.ms_per_token)
            return {"stack": two.stack, "over": best.stack, "gain": two.gain_over(best)}
    return None


def report_parts(plan: HardwarePlan) -> list[str | Table]:
    """Return the plan as lines and tables for a terminal."""
    cards = f"{plan.tp} × {plan.gpu}" if plan.tp > 1 else plan.gpu
    parts: list[str | Table] = [
        f"{plan.models[0]} on {cards}, drafts: {', '.join(plan.models[1:]) or 'none'}"
    ]
    if not any(row.fits for row in plan.rows):
        parts.append(
            f"the models do not fit into the memory of {cards}: more GPUs (--tp) or smaller --weights do"
        )
    other = ("speed-up", "tokens per round", "ms per round")
    forms = {"tokens/s": ("{:,.0f}", 1.0), **dict.fromkeys(other, ("{:.2f}", 1.0))}
    for best in plan.best:
        here = [r for r in plan.rows if (r.batch, r.context) == (best.batch, best.context)]
        table = [["stack", *forms, "memory"]]
        for r in [*here[:SHOWN], *(r for r in here[SHOWN:] if r.stack == plan.models[0])]:
            speeds = (
                (r.tokens_per_second, *r.tokens_per_second_ci),
                (r.speedup_over_plain, *r.speedup_over_plain_ci),
            )
            fits = "fits" if r.fits else "does not fit"
            table.append(
                [
                    r.stack,
                    *(Estimate(*one) for one in speeds),
                    r.acceptance_length,
                    r.ms_per_step,
                    fits,
                ]
            )
        parts.append(Table(f"batch {best.batch}, context {best.context:,}", table, forms=forms))
    first, singles = plan.lookaheads[0], {}
    for cell in plan.lookaheads:
        best_draft = cell["stack"].rpartition(" > ")[0] or "off"
        lost = f" ({cell['present']} loses {cell['loses']:.0%})" if "present" in cell else ""
        singles.setdefault(cell["batch"], [cell["batch"]]).append(best_draft + lost)
    contexts = [
        f"context {cell['context']:,}"
        for cell in plan.lookaheads
        if cell["batch"] == first["batch"]
    ]
    drafts = Table("best single draft", [["batch", *contexts], *singles.values()])
    title = f"settings of serving engines at batch {first['batch']}, context {first['context']:,}:"
    flags = [f"  {engine}: {text}" for engine, text in plan.settings.items()]
    parts += ["", *plan.answers(), drafts, "", title, *flags]
    assumed = [[a.name, a.value, a.kind, a.source] for a in plan.assumptions]
    return [*parts, Table("", [["assumption", "value", "kind", "source"], *assumed])]
