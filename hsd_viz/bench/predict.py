"""Predict speculative decoding on hardware that is not at hand: step times of :mod:`hsd_viz.latency.hardware` in the
latency law.

Every figure that is not measured is listed with its kind and source. Intervals are what the speed-up becomes if every
acceptance is off by its uncertainty; step times of the same machine cancel in a speed-up for the most part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from math import log2
from typing import Any

from hsd_viz.adapters import settings as engine_settings
from hsd_viz.latency.hardware import CACHES, PUBLISHED, WEIGHTS, Kind, Machine, Shape, fitted, gpu_of, shape_of
from hsd_viz.latency.inputs import Calibration, Edge, LookupCost, Tier
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, select
from hsd_viz.stack import parse
from hsd_viz.words import check_range

#: A draft head of one layer of the target, as EAGLE-3 and MTP have it; usable as a model's name.
HEADS = ("eagle", "eagle3", "mtp")
DATABASE = "db"
#: Uncertainty of an acceptance that was assumed, and that of step times (the worst held-aside single-machine figure).
ASSUMED_BAND, GIVEN_BAND, STEP_ERROR = 0.1, 0.03, 0.18
#: Assumed database: the share of rounds with a draft, its length, and the acceptance of each of its tokens.
HIT, LENGTH, DATABASE_ACCEPTANCE = 0.3, 4, 0.7
#: Batches and contexts among which a break-even is searched.
BATCHES, CONTEXTS = tuple(2**k for k in range(11)), tuple(2**k for k in range(9, 18))


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
    """The answer: rows, the fastest stack of each batch and context, where drafting stops to pay, and settings."""

    gpu: str
    tp: int
    models: tuple[str, ...]
    rows: tuple[Row, ...]
    best: tuple[Row, ...]
    break_even_batch: Mapping[str, int | None]
    break_even_context: Mapping[str, int | None]
    second_draft_gain: tuple[dict[str, Any], ...]
    lookaheads: tuple[dict[str, Any], ...]
    settings: Mapping[str, str]
    assumptions: tuple[Assumption, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


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
        acceptance: conditional acceptance of draft tokens, or a survival curve (an ``Edge``, as a profile has it), for
            all pairs or by "draft > verifier"; assumed otherwise.
        calibrate: measured milliseconds of a step of the target with 1 and with 8 tokens, for the first batch and
            context.

    Raises: ValueError: for an unknown GPU or model, or an impossible combination.
    """
    shapes = _shapes(models)
    machine = Machine(gpu_of(gpu, bandwidth=bandwidth, flops=flops, memory=memory), tp)
    _check(shapes, tp, weights, cache, batch, context, temperature)
    if calibrate is not None:
        at: dict[str, Any] = {"batch": batch[0], "context": context[0], "weights": weights, "cache": cache}
        machine = fitted(machine, shapes[0], *calibrate, **at)
    target, *drafts = shapes
    order = (*sorted((s.name for s in drafts), key=lambda name: _by(shapes, name).active), target.name)
    edges, assumptions = _acceptance(shapes, order, acceptance, temperature)
    assumptions = [*_machine_assumptions(machine), *assumptions]
    tier = _tier(DATABASE_ACCEPTANCE)
    if databases:
        text = f"drafts {LENGTH} tokens in {HIT:.0%} of the rounds, each accepted with {DATABASE_ACCEPTANCE:g}"
        assumptions.append(Assumption("database", text, "assumed", "replay your own traffic: hsd-viz replay"))
    if any(b > 1 for b in batch):
        text = "sequences of a batch do not wait for each other within a round; hierarchies lose some of this"
        assumptions.append(Assumption("batch", text, "assumed", "the latency law is one of single sequences"))

    def calibration(b: int, c: int, shift: float = 0.0) -> Calibration:
        costs = {s.name: machine.cost(s, batch=b, context=c, weights=weights, cache=cache) for s in shapes}
        moved = {pair: edge.shifted(shift * band) for pair, (edge, band) in edges.items()}
        tiers = {(DATABASE, name): tier.shifted(shift * ASSUMED_BAND) for name in order} if databases else {}
        lookups = {DATABASE: LookupCost(0.02 * b)} if databases else {}
        return Calibration(order, costs, moved, tiers, lookups)

    rows, best, gains, lookaheads = [], [], [], []
    for b in batch:
        for c in context:
            choice = select(calibration(b, c))
            laws = [Law(calibration(b, c, shift)) for shift in (-1.0, 1.0)]
            found = [_row(p, choice.plain, laws, b, c, machine, shapes, weights, cache) for p in choice.ranked]
            rows += found
            best.append(next((row for row in found if row.fits), found[0]))
            gains.append(_second_draft(choice, b, c))
            lookaheads.append(_lookahead(choice, b, c))
    singles = {s.name: _best_single(calibration, s.name, batch, context) for s in drafts}
    return HardwarePlan(
        gpu=machine.gpu.name,
        tp=tp,
        models=tuple(s.name for s in shapes),
        rows=tuple(rows),
        best=tuple(best),
        break_even_batch={name: found[0] for name, found in singles.items()},
        break_even_context={name: found[1] for name, found in singles.items()},
        second_draft_gain=tuple(g for g in gains if g),
        lookaheads=tuple(lookaheads),
        settings=settings(next((str(c["stack"]) for c in lookaheads if c["lookahead"]), target.name), lookaheads),
        assumptions=tuple(assumptions),
    )


def settings(stack: str, lookaheads: Sequence[Mapping[str, Any]] = ()) -> dict[str, str]:
    """Return the settings of serving engines for a stack with one draft model; without drafts, how to switch off.
    ``lookaheads``: cells of batch, context and best draft length; those at the first context give a schedule.
    """
    by_batch = [(c["batch"], c["lookahead"]) for c in lookaheads if c["context"] == lookaheads[0]["context"]]
    drafts = parse(stack).drafts
    if not drafts:
        return engine_settings("plain", 0, by_batch=by_batch)
    name, n = drafts[-1].name, drafts[-1].lookahead
    head = name in HEADS
    return engine_settings(
        name if head else "draft", n if isinstance(n, int) else 1, "HEAD" if head else name, by_batch
    )


def _shapes(models: Sequence[str]) -> tuple[Shape, ...]:
    if not models:
        raise ValueError("no models: name the target first, then its draft models, as in llama-70b,llama-8b,llama-1b")
    target = shape_of(models[0])
    found = [target]
    for name in models[1:]:
        head = replace(target, name=name, layers=1, experts=0, used=0) if name in HEADS else shape_of(name)
        found.append(head)
    names = [s.name for s in found]
    if len(set(names)) < len(names):
        raise ValueError(f"a model is named twice in {', '.join(names)}")
    for draft in found[1:]:
        if draft.active >= target.active:
            raise ValueError(f"{draft.name} is not smaller than the target {target.name}: name the target first")
    return tuple(found)


def _check(
    shapes: Sequence[Shape], tp: int, weights: str, cache: str, batch: Iterable[int], context: Iterable[int], t: float
) -> None:
    check_range("the number of GPUs", tp, 1, 64)
    for shape in shapes[:1]:
        if shape.heads % tp:
            raise ValueError(f"{tp} GPUs do not divide the {shape.heads} attention heads of {shape.name}")
    for value, known, what in ((weights, WEIGHTS, "weights"), (cache, CACHES, "KV cache")):
        if value not in known:
            raise ValueError(f"the format '{value}' of the {what} is unknown: use {', '.join(known)}")
    for b in batch:
        check_range("the batch", b, 1, 4096)
    for c in context:
        check_range("the context", c, 1, 10_000_000)
    check_range("the temperature", t, 0.0, 2.0)


def _acceptance(
    shapes: Sequence[Shape], order: Sequence[str], given: Any, temperature: float
) -> tuple[dict[tuple[str, str], tuple[Edge, float]], list[Assumption]]:
    """Return (acceptance, its uncertainty) of every pair, and what was assumed."""
    edges, out = {}, []
    for draft, verifier in combinations(order, 2):
        if (draft in HEADS and verifier != shapes[0].name) or verifier in HEADS:
            continue
        key = f"{draft} > {verifier}"
        value = given.get(key) if isinstance(given, Mapping) else given
        if value is not None:
            edge = value if isinstance(value, Edge) else _even(float(value), key)
            edges[draft, verifier] = edge, GIVEN_BAND
            out.append(Assumption(f"acceptance {key}", round(edge.curve(1)[1], 4), "measured", "as given"))
            continue
        if draft in HEADS:
            value = 0.7 - 0.1 * temperature
        else:
            ratio = _by(shapes, verifier).active / _by(shapes, draft).active
            value = min(0.95, max(0.2, 0.9 - 0.035 * log2(ratio))) - 0.05 * temperature
        edges[draft, verifier] = Edge(tail=value), ASSUMED_BAND
        source = f"± {ASSUMED_BAND:g}; measure your own pair: --acceptance '{key}=…'"
        out.append(Assumption(f"acceptance {key}", round(value, 3), "assumed", source))
    if isinstance(given, Mapping):
        unknown = [key for key in given if tuple(key.split(" > ")) not in edges]
        if unknown:
            known = ", ".join(f"'{d} > {v}'" for d, v in edges)
            raise ValueError(f"'{unknown[0]}' is not a pair of these models: use {known or 'a draft model'}")
    return edges, out


def _even(rate: float, key: str) -> Edge:
    if not 0 <= rate < 1:
        raise ValueError(f"the acceptance {rate:g} of '{key}' is not usable: use a number from 0 to below 1")
    return Edge(tail=rate)


def _machine_assumptions(machine: Machine) -> list[Assumption]:
    used, gpu = machine.efficiency, machine.gpu
    sheet = f"{gpu.bandwidth / 1e9:g} GB/s, {gpu.flops / 1e12:g} TFLOP/s, {gpu.memory / 1e9:g} GB"
    fixed = f"{used.layer_us:g} + {used.reduce_us:g} µs per layer, {used.step_us:.0f} µs per step"
    return [
        Assumption(gpu.name, sheet, "published", "data sheet"),
        Assumption("share of the bandwidth", round(used.bandwidth["bf16"], 3), used.kind, used.source),
        Assumption("share of the FLOP/s", round(used.compute, 3), *_compute(used)),
        Assumption("fixed time", fixed, used.kind, used.source),
    ]


def _compute(used: Any) -> tuple[Kind, str]:
    return ("assumed", "not fitted") if used.compute == PUBLISHED.compute else (used.kind, used.source)


def _by(shapes: Sequence[Shape], name: str) -> Shape:
    return next(s for s in shapes if s.name == name)


def _tier(rate: float) -> Tier:
    outcomes = [(LENGTH, k, HIT * p) for k, p in enumerate(Edge(tail=rate).stops(LENGTH))]
    return Tier(((0, 0, 1 - HIT), *outcomes))


def _row(
    found: Prediction, plain: Prediction, laws: Sequence[Law], batch: int, context: int, machine: Machine,
    shapes: Sequence[Shape], weights: str, cache: str,
) -> Row:  # fmt: skip
    used = tuple(s for s in shapes if s.name in found.names)
    speed = lambda law: law.predict(shapes[0].name).ms_per_token / law.predict(found.stack).ms_per_token
    low, high = sorted(speed(law) for law in laws)
    rate, error = batch * 1e3 / found.ms_per_token, 1 + STEP_ERROR
    ratio = plain.ms_per_token / found.ms_per_token
    at: dict[str, Any] = {"batch": batch, "context": context, "weights": weights, "cache": cache}
    return Row(
        stack=found.stack,
        batch=batch,
        context=context,
        ms_per_step=found.ms_per_token * found.acceptance_length,
        tokens_per_second=rate,
        tokens_per_second_ci=(rate * low / ratio / error, rate * high / ratio * error),
        speedup_over_plain=ratio,
        speedup_over_plain_ci=(low, high),
        acceptance_length=found.acceptance_length,
        fits=machine.memory_share(used, **at) <= 1,
    )


def _second_draft(choice: Choice, batch: int, context: int) -> dict[str, Any] | None:
    """Return the gain of the best hierarchy of two draft models over the best single draft; ``None`` without one."""
    stacks = [(p, parse(p.stack)) for p in choice.ranked]
    two = [p for p, s in stacks if len(s.drafts) > 1 and s.bottom is None]
    if not two or choice.best_single_draft is None:
        return None
    best = min([choice.best_single_draft, choice.plain], key=lambda p: p.ms_per_token)
    gain = two[0].gain_over(best)
    return {"batch": batch, "context": context, "stack": two[0].stack, "over": best.stack, "gain": gain}


def _lookahead(choice: Choice, batch: int, context: int) -> dict[str, Any]:
    """Return the best stack that serving engines run, which have one draft model, and its lookahead; 0: no draft."""
    single = choice.best_single_draft
    best = choice.plain if single is None or single.gain_over(choice.plain) <= 0 else single
    drafts = parse(best.stack).drafts
    return {
        "batch": batch, "context": context, "stack": best.stack, "lookahead": drafts[0].lookahead if drafts else 0
    }  # fmt: skip


def _best_single(
    calibration: Any, name: str, batch: Sequence[int], context: Sequence[int]
) -> tuple[int | None, int | None]:
    """Return the smallest batch (at the first context) at which a single draft no longer pays, and the smallest context
    (at the largest batch) at which it does; ``None``: none of those that were tried.
    """

    def pays(b: int, c: int) -> bool:
        known = calibration(b, c)
        only = known.restricted([name], [])
        if (name, known.target) not in only.edges:
            return False
        return select(only).picked.stack != known.target

    stops = next((b for b in BATCHES if not pays(b, context[0])), None)
    begins = next((c for c in CONTEXTS if pays(max(batch), c)), None)
    return stops, begins


def report_lines(plan: HardwarePlan, rows: int = 6) -> list[Any]:
    """Return the plan as lines and tables for a terminal; ``rows`` stacks of each batch and context."""
    cards = f"{plan.tp} × {plan.gpu}" if plan.tp > 1 else plan.gpu
    parts: list[Any] = [f"{plan.models[0]} on {cards}, drafts: {', '.join(plan.models[1:]) or 'none'}"]
    head = ["stack", "tokens/s", "speed-up", "tokens per round", "ms per round", "memory"]
    for best in plan.best:
        here = [r for r in plan.rows if (r.batch, r.context) == (best.batch, best.context)]
        shown = [*here[:rows], *(r for r in here[rows:] if r.stack == plan.models[0])]
        parts += ["", f"batch {best.batch}, context {best.context:,}", [head, *(_cells(r) for r in shown)]]
    parts += ["", *_answers(plan), "", *_lookahead_table(plan)]
    first = plan.lookaheads[0]
    parts += ["", f"settings of serving engines at batch {first['batch']}, context {first['context']:,}:"]
    parts += [f"  {engine}: {text}" for engine, text in plan.settings.items()]
    parts += [
        "",
        [["assumption", "value", "kind", "source"]]
        + [[a.name, str(a.value), a.kind, a.source] for a in plan.assumptions],
    ]
    return parts


def _cells(row: Row) -> list[str]:
    low, high = row.tokens_per_second_ci
    slow, fast = row.speedup_over_plain_ci
    return [
        row.stack,
        f"{row.tokens_per_second:,.0f} [{low:,.0f}, {high:,.0f}]",
        f"{row.speedup_over_plain:.2f} [{slow:.2f}, {fast:.2f}]",
        f"{row.acceptance_length:.2f}",
        f"{row.ms_per_step:.2f}",
        "fits" if row.fits else "does not fit",
    ]


def _lookahead_table(plan: HardwarePlan) -> list[Any]:
    """Return the best lookahead of one draft model by batch and context."""
    contexts = list(dict.fromkeys(cell["context"] for cell in plan.lookaheads))
    cells: dict[int, list[str]] = {}
    for cell in plan.lookaheads:
        cells.setdefault(cell["batch"], []).append(cell["stack"].rpartition(" > ")[0] or "off")
    return [
        "best single draft:",
        [["batch", *(f"context {c:,}" for c in contexts)], *([str(b), *r] for b, r in cells.items())],
    ]


def _answers(plan: HardwarePlan) -> list[str]:
    out = []
    for name, batch in plan.break_even_batch.items():
        end = f"up to batch {BATCHES[-1]}" if batch is None else f"below batch {batch}" if batch > 1 else "at no batch"
        out.append(f"{name} alone pays {end} at the first context")
    pays = [g for g in plan.second_draft_gain if g["gain"] > 0]
    if plan.second_draft_gain and not pays:
        nearest = max(plan.second_draft_gain, key=lambda g: g["gain"])
        out.append(f"two drafts never beat one here; nearest: {nearest['gain']:+.1%} at batch {nearest['batch']}")
    out += [
        f"{g['stack']} is {g['gain']:+.1%} over {g['over']} at batch {g['batch']}, context {g['context']:,}"
        for g in pays
    ]
    return out
