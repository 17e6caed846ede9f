"""Predict speculative decoding on hardware that is not at hand.

Step times of :mod:`hsd_viz.latency.hardware` in the latency law. Every figure that is not measured
is listed with its kind and source. Intervals are what the speed-up becomes if every acceptance is
off by its uncertainty; step times of the same machine cancel in a speed-up for the most part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from math import log2
from typing import Any, Literal

from hsd_viz.errors import UserError
from hsd_viz.latency import hardware
from hsd_viz.latency.hardware import WEIGHTS, Kind, Machine, Shape, check_setting
from hsd_viz.latency.inputs import Calibration, Edge, LookupCost, Tier
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, select
from hsd_viz.latency.speedup import bounded
from hsd_viz.records.settings import settings as engine_settings
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table
from hsd_viz.stack import parse
from hsd_viz.words import check_range, did_you_mean

#: A draft head of one layer of the target, as EAGLE-3 and MTP have it; usable as a model's name.
HEADS = ("eagle", "eagle3", "mtp")
DATABASE = "db"
#: The start of the names of assumptions about formats that a config contradicts.
STORED = "weights of "
#: Uncertainty of an acceptance that was given, and that of step times (the worst held-aside figure
#: of one card).
GIVEN_BAND = 0.03
STEP_ERROR = 0.18
#: Assumed database: the share of rounds with a draft, its length, the acceptance of each of its
#: tokens, its uncertainty, and the milliseconds of a look-up.
HIT = 0.3
LENGTH = 4
DATABASE_ACCEPTANCE = 0.7
DATABASE_BAND = 0.1
LOOKUP_MS = 0.02
#: Batches and contexts among which a break-even is searched, and stacks of one of them in a table.
BATCHES = tuple(2**k for k in range(11))
CONTEXTS = tuple(2**k for k in range(9, 18))
SHOWN = 6

Text = Literal["mixed", "chat", "code", "math", "documents"]
#: Conditional acceptance of a draft head by kind of text: 10 %, 50 % and 90 % of the figures that
#: SpecBundle publishes for two heads of Llama 3.1 8B, two of Llama 3.3 70B and one each of two
#: Qwen3 30B-A3B, converted from tokens per forward pass.
HEAD_ACCEPTANCE: dict[Text, tuple[float, float, float]] = {
    "mixed": (0.46, 0.74, 0.87),
    "chat": (0.69, 0.78, 0.80),
    "code": (0.73, 0.82, 0.88),
    "math": (0.44, 0.71, 0.88),
    "documents": (0.42, 0.52, 0.60),
}
HEAD_SOURCE = "SpecBundle's tokens per forward pass of EAGLE-3 heads, 10–90 %"
#: Conditional acceptance of a draft model of 1/15.6 of the target's size by kind of text, with its
#: uncertainty; each halving of the size costs :data:`PER_HALVING`.
MODEL_ACCEPTANCE: dict[Text, tuple[float, float]] = {
    "mixed": (0.69, 0.12),
    "chat": (0.61, 0.10),
    "code": (0.83, 0.10),
    "math": (0.75, 0.12),
    "documents": (0.69, 0.15),
}
MODEL_RATIO = 15.6
PER_HALVING = 0.04
MODEL_SOURCE = "Qwen2.5 0.5B, 1.5B and 3B under 7B (sathvik-vadari/spec-decode-advisor)"
#: What sampling at temperature 1 takes from an assumed acceptance.
PER_TEMPERATURE = 0.07


@dataclass(frozen=True, slots=True)
class Assumption:
    """A figure that a prediction uses.

    Attributes:
        name: what it is of.
        value: the figure.
        kind: ``measured``, ``published`` or ``assumed``.
        source: where it is from.
    """

    name: str
    value: float | str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Conditional acceptance of one model by another.

    Attributes:
        edge: as the law takes it.
        lower: how much lower each conditional acceptance may be.
        higher: how much higher.
    """

    edge: Edge
    lower: float
    higher: float

    def moved(self, by: float) -> Edge:
        """Return the acceptance at ``by`` uncertainties: -1 is the lower end, 1 the upper one."""
        return self.edge.shifted(by * (self.lower if by < 0 else self.higher))


@dataclass(frozen=True, slots=True)
class Row:
    """One stack at one batch and context.

    Attributes:
        stack: the stack.
        batch: sequences decoded together.
        context: tokens cached for each.
        ms_per_step: milliseconds of a round.
        tokens_per_second: over the whole batch.
        tokens_per_second_ci: its interval.
        speedup_over_plain: at most the tokens per forward pass.
        speedup_over_plain_ci: its interval.
        acceptance_length: tokens per forward pass of the target.
        fits: whether models and KV caches fit into the memory.
    """

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
class HardwarePlan(Result):
    """The answer.

    Attributes:
        gpu: the card.
        tp: the number of cards.
        models: target first.
        rows: all stacks, batches and contexts.
        best: by batch and context the fastest stack that fits.
        break_even_batch: by draft model the smallest batch (at the first context) at which it
            alone no longer pays; ``None``: none that fits.
        break_even_context: by draft model the smallest context (at the largest batch) at which it
            does; ``None``: none that fits.
        most_batch: the largest batch of :data:`BATCHES` that fits at the first context, by draft
            model; 0: none.
        second_draft_gain: what a second draft model gains, by batch and context.
        lookaheads: the best single draft, and what the present length of a profile loses.
        settings: of serving engines.
        assumptions: all figures that are not measured.
    """

    gpu: str
    tp: int
    models: tuple[str, ...]
    rows: tuple[Row, ...]
    best: tuple[Row, ...]
    break_even_batch: dict[str, int | None]
    break_even_context: dict[str, int | None]
    most_batch: dict[str, int]
    second_draft_gain: tuple[dict[str, Any], ...]
    lookaheads: tuple[dict[str, Any], ...]
    settings: Mapping[str, str]
    assumptions: tuple[Assumption, ...]

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Prediction for {self._cards()}"

    def _cards(self) -> str:
        return f"{self.tp} × {self.gpu}" if self.tp > 1 else self.gpu

    def headline(self) -> str:
        """Return what is predicted."""
        drafts = ", ".join(self.models[1:]) or "none"
        return f"{self.models[0]} on {self._cards()}, drafts: {drafts}"

    def lines(self) -> list[str]:
        """Return what is predicted, and where draft models pay."""
        return [self.headline(), *self.answers()]

    def parts(self) -> list[str | Table]:
        """Return speeds, where draft models pay, settings and assumptions, in this order."""
        return report_parts(self)

    @property
    def flags(self) -> Mapping[str, str]:
        """The settings of serving engines."""
        return self.settings

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as JSON data."""
        return asdict(self)

    def answers(self) -> list[str]:
        """Return where draft models pay as lines: single ones, and two over one."""
        lines = [self._answer_of(name) for name in self.break_even_batch]
        gains = sorted(self.second_draft_gain, key=lambda one: -one["gain"])
        paying = [one for one in self.second_draft_gain if one["gain"] > 0]
        for one in paying:
            lines.append(
                f"{one['stack']} is {one['gain']:+.1%} over {one['over']} at batch {one['batch']}, "
                f"context {one['context']:,}"
            )
        if gains and not paying:
            lines.append(
                f"two drafts never beat one here; nearest: {gains[0]['gain']:+.1%} at batch "
                f"{gains[0]['batch']}"
            )
        return lines

    def _answer_of(self, name: str) -> str:
        """Return at which batches and contexts a draft model alone pays."""
        batch = self.break_even_batch[name]
        context = self.break_even_context[name]
        most = self.most_batch[name]
        largest = max(row.batch for row in self.rows)
        if not most:
            where = "fits at no batch"
        elif batch is None:
            limit = "" if most == BATCHES[-1] else ", the largest that fits into the memory"
            where = f"pays up to batch {most}{limit}"
        elif batch > 1:
            where = f"pays below batch {batch}"
        else:
            where = "pays at no batch"
        at = "at no context" if context is None else f"from context {context:,} on"
        return f"{name} alone {where} at the first context, {at} at batch {largest}"

    def tables(self) -> list[Table]:
        """Return the stacks by batch and context, the best single drafts, and the assumptions."""
        tables = [self._stacks_table(best) for best in self.best]
        tables.append(self._drafts_table())
        rows = [[one.name, one.value, one.kind, one.source] for one in self.assumptions]
        tables.append(Table("", [["assumption", "value", "kind", "source"], *rows]))
        return tables

    def _stacks_table(self, best: Row) -> Table:
        figures = ("speed-up", "tokens per round", "ms per round")
        forms = {"tokens/s": ("{:,.0f}", 1.0), **dict.fromkeys(figures, ("{:.2f}", 1.0))}
        here = [r for r in self.rows if (r.batch, r.context) == (best.batch, best.context)]
        plain = [row for row in here[SHOWN:] if row.stack == self.models[0]]
        rows: list[list[Any]] = [["stack", *forms, "memory"]]
        for row in [*here[:SHOWN], *plain]:
            rows.append(
                [
                    row.stack,
                    Estimate(row.tokens_per_second, *row.tokens_per_second_ci),
                    Estimate(row.speedup_over_plain, *row.speedup_over_plain_ci),
                    row.acceptance_length,
                    row.ms_per_step,
                    "fits" if row.fits else "does not fit",
                ]
            )
        return Table(f"batch {best.batch}, context {best.context:,}", rows, forms=forms)

    def _drafts_table(self) -> Table:
        first = self.lookaheads[0]
        rows: dict[int, list[Any]] = {}
        for cell in self.lookaheads:
            best_draft = cell["stack"].rpartition(" > ")[0] or "off"
            if "present" in cell:
                best_draft += f" ({cell['present']} loses {cell['loses']:.0%})"
            rows.setdefault(cell["batch"], [cell["batch"]]).append(best_draft)
        contexts = [
            f"context {cell['context']:,}"
            for cell in self.lookaheads
            if cell["batch"] == first["batch"]
        ]
        return Table("best single draft", [["batch", *contexts], *rows.values()])


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
    text: Text = "mixed",
    acceptance: Mapping[str, float | Edge] | float | Edge | None = None,
    calibrate: tuple[float, float] | None = None,
    round_ms: float | None = None,
    databases: bool = True,
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
) -> HardwarePlan:
    """Predict plain decoding, each single draft, each hierarchy, and a database below each.

    Args:
        gpu: a name, as "H100" or as ``nvidia-smi`` prints it; or any name with ``bandwidth``,
            ``flops`` and ``memory``.
        models: target first, then draft models: names, names of the hub, paths of a
            ``config.json``, or ``eagle3`` for a draft head.
        tp: cards that share each model.
        weights: the format of all weights.
        cache: the format of the KV caches.
        batch: sequences decoded together.
        context: tokens cached for each.
        temperature: lowers assumed acceptances.
        text: the kind of text, for assumed acceptances.
        acceptance: conditional, or a survival curve (an ``Edge``), for all pairs or by
            "draft > verifier".
        calibrate: measured ms of a step of the target with 1 and with 8 tokens, for the first
            batch and context.
        round_ms: measured ms of a round beyond its forward passes.
        databases: whether to try a database below each stack.
        bandwidth: GB/s of an unknown card.
        flops: TFLOP/s with 16 bits of an unknown card.
        memory: GB of an unknown card.

    Raises:
        UserError: for an unknown GPU or model, or an impossible combination.
    """
    shapes = _shapes(models)
    card = hardware.gpu_of(gpu, bandwidth, flops, memory)
    machine = Machine(card, tp, hardware.efficiency_of(card))
    check_setting(shapes[0], tp, weights, cache, context)
    for sequences in batch:
        check_range("the batch", sequences, 1, 4096)
    check_range("the temperature", temperature, 0.0, 2.0)
    if text not in HEAD_ACCEPTANCE:
        hint = did_you_mean(text, HEAD_ACCEPTANCE)
        raise UserError(f"the text '{text}' is unknown: use {', '.join(HEAD_ACCEPTANCE)}{hint}")
    formats = {"weights": weights, "cache": cache}
    if calibrate is not None:
        one_ms, many_ms = calibrate
        machine = hardware.fitted(
            machine, shapes[0], one_ms, many_ms, batch=batch[0], context=context[0], **formats
        )
    if round_ms is not None:
        machine = replace(machine, efficiency=machine.efficiency.with_round(round_ms))
    smallest_first = sorted(shapes[1:], key=lambda shape: shape.touched(1))
    order = tuple(shape.name for shape in (*smallest_first, shapes[0]))
    by_name = {shape.name: shape for shape in shapes}
    edges, assumptions = _acceptance(by_name, order, acceptance, temperature, text)
    setting = _Setting(machine, by_name, order, edges, databases, formats)
    found = [*_formats(shapes, weights), *_heads(shapes), *assumptions]
    return setting.plan(batch, context, found)


@dataclass(frozen=True, slots=True)
class _Setting:
    """Models on a machine.

    Attributes:
        machine: the cards.
        models: shapes by name.
        order: names from the smallest to the target.
        edges: acceptance of each pair.
        databases: whether to try a database below each stack.
        formats: of weights and caches.
    """

    machine: Machine
    models: Mapping[str, Shape]
    order: tuple[str, ...]
    edges: Mapping[tuple[str, str], Acceptance]
    databases: bool
    formats: Mapping[str, str]

    def calibration(self, batch: int, context: int, shift: float = 0.0) -> Calibration:
        """Return the inputs of the law, acceptances moved by ``shift`` uncertainties."""
        costs = {
            name: self.machine.cost(shape, batch=batch, context=context, **self.formats)
            for name, shape in self.models.items()
        }
        moved = {pair: one.moved(shift) for pair, one in self.edges.items()}
        if not self.databases:
            return Calibration(self.order, costs, moved)
        stops = Edge(tail=DATABASE_ACCEPTANCE + shift * DATABASE_BAND).stops(LENGTH)
        accepted = [(LENGTH, k, HIT * chance) for k, chance in enumerate(stops)]
        tier = Tier(((0, 0, 1 - HIT), *accepted))
        tiers = {(DATABASE, name): tier for name in self.order}
        lookups = {DATABASE: LookupCost(LOOKUP_MS * batch)}
        return Calibration(self.order, costs, moved, tiers, lookups)

    def fits(self, names: Iterable[str], batch: int, context: int) -> bool:
        """Return whether models and their KV caches fit into the memory."""
        held = tuple(self.models[name] for name in names if name in self.models)
        share = self.machine.memory_share(held, batch=batch, context=context, **self.formats)
        return share <= 1

    def row(
        self, at: Prediction, plain: Prediction, laws: Sequence[Law], batch: int, context: int
    ) -> Row:
        """Return the row of a stack, with what it becomes under each of ``laws``."""
        ratio = plain.ms_per_token / at.ms_per_token
        low, high = sorted(
            law.predict(plain.levels).ms_per_token / law.predict(at.levels).ms_per_token
            for law in laws
        )
        longest = max(law.predict(at.levels).acceptance_length for law in laws)
        within = bounded(Estimate(ratio, low, high), longest).estimate
        rate = batch * 1e3 / at.ms_per_token
        error = 1 + STEP_ERROR
        return Row(
            stack=at.stack,
            batch=batch,
            context=context,
            ms_per_step=at.ms_per_token * at.acceptance_length,
            tokens_per_second=rate,
            tokens_per_second_ci=(rate * low / ratio / error, rate * high / ratio * error),
            speedup_over_plain=within.value or ratio,
            speedup_over_plain_ci=within.ends or (low, high),
            acceptance_length=at.acceptance_length,
            fits=self.fits(at.names, batch, context),
        )

    def single_draft(self, choice: Choice, batch: int, context: int) -> dict[str, Any]:
        """Return the fastest stack of at most one draft model, as serving engines run them;
        lookahead 0: no draft.
        """
        candidates = (choice.plain, choice.best_single_draft or choice.plain)
        pick = min(candidates, key=lambda one: one.ms_per_token)
        tokens = next((draft.lookahead for draft in pick.levels.drafts), 0)
        cell = {"batch": batch, "context": context, "stack": pick.stack, "lookahead": tokens}
        for present in self._present():
            law = Law(self.calibration(batch, context))
            now = law.predict(f"{self.order[0]}:{present} > {self.order[1]}")
            cell["present"] = present
            cell["loses"] = max(0.0, 1 - pick.ms_per_token / now.ms_per_token)
        return cell

    def _present(self) -> list[int]:
        """Return the present draft length: the positions of a profile, or what a head states."""
        if len(self.order) != 2:
            return []
        lengths = [len(one.edge.survival) for one in self.edges.values()]
        stated = self.models[self.order[0]].lookahead
        known = [*(n for n in lengths if n), *([stated] if stated else [])]
        return [n for n in known[:1] if 0 < n < 64]

    def pays(self, name: str, batch: int, context: int) -> bool:
        """Return whether a draft model alone is faster than none."""
        target = self.order[-1]
        known = self.calibration(batch, context).restricted([name], [])
        return (name, target) in self.edges and bool(select(known).picked.levels.drafts)

    def break_even(
        self, name: str, batch: Sequence[int], context: Sequence[int]
    ) -> tuple[int | None, int | None, int]:
        """Return the batch from which a draft model no longer pays, the context from which it
        does, and the largest batch that fits.
        """
        both = (name, self.order[-1])
        batches = [b for b in BATCHES if self.fits(both, b, context[0])]
        contexts = [c for c in CONTEXTS if self.fits(both, max(batch), c)]
        stops = _first(batches, lambda b: not self.pays(name, b, context[0]))
        starts = _first(contexts, lambda c: self.pays(name, max(batch), c))
        return stops, starts, max(batches, default=0)

    def plan(
        self, batch: Sequence[int], context: Sequence[int], assumptions: Sequence[Assumption]
    ) -> HardwarePlan:
        """Return the plan over all batches and contexts."""
        rows: list[Row] = []
        best: list[Row] = []
        gains: list[dict[str, Any]] = []
        lookaheads: list[dict[str, Any]] = []
        for b, c in product(batch, context):
            choice = select(self.calibration(b, c))
            laws = [Law(self.calibration(b, c, shift)) for shift in (-1.0, 1.0)]
            here = [self.row(one, choice.plain, laws, b, c) for one in choice.ranked]
            rows += here
            best.append(next((row for row in here if row.fits), here[0]))
            if gain := _second_draft(choice):
                gains.append({"batch": b, "context": c, **gain})
            lookaheads.append(self.single_draft(choice, b, c))
        *drafts, target = self.order
        evens = {name: self.break_even(name, batch, context) for name in drafts}
        with_draft = (str(cell["stack"]) for cell in lookaheads if cell["lookahead"])
        used = _assumptions(self.machine, self.databases, max(batch))
        return HardwarePlan(
            gpu=self.machine.gpu.name,
            tp=self.machine.tp,
            models=tuple(self.models),
            rows=tuple(rows),
            best=tuple(best),
            break_even_batch={name: even[0] for name, even in evens.items()},
            break_even_context={name: even[1] for name, even in evens.items()},
            most_batch={name: even[2] for name, even in evens.items()},
            second_draft_gain=tuple(gains),
            lookaheads=tuple(lookaheads),
            settings=settings(next(with_draft, target), lookaheads, self.models),
            assumptions=(*used, *assumptions),
        )


def _first(tried: Iterable[int], holds: Callable[[int], bool]) -> int | None:
    return next((one for one in tried if holds(one)), None)


def settings(
    stack: str,
    lookaheads: Sequence[Mapping[str, Any]] = (),
    models: Mapping[str, Shape] | None = None,
) -> dict[str, str]:
    """Return the settings of serving engines for a stack with one draft model, by batch size with
    ``lookaheads``.
    """
    by_batch = [
        (cell["batch"], cell["lookahead"])
        for cell in lookaheads
        if cell["context"] == lookaheads[0]["context"]
    ]
    drafts = parse(stack).drafts
    if not drafts:
        return engine_settings("plain", 0)
    name = drafts[-1].name
    tokens = drafts[-1].lookahead
    count = tokens if isinstance(tokens, int) else 1
    method = models[name].method if models is not None and name in models else ""
    if not method and name in HEADS:
        return engine_settings(name, count, "HEAD", by_batch)
    return engine_settings(method or "draft", count, name, by_batch)


def _shapes(models: Sequence[str]) -> tuple[Shape, ...]:
    """Return the shapes of the models, target first."""
    if not models:
        raise UserError(
            "no models: name the target first, then its draft models, as in "
            "llama-70b,llama-8b,llama-1b"
        )
    target = hardware.shape_of(models[0])
    if target.is_head:
        raise UserError(f"{target.name} is a draft head: name its target first")
    drafts = [
        target.head(name) if name in HEADS else hardware.shape_of(name).with_target(target)
        for name in models[1:]
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


def _formats(shapes: Sequence[Shape], weights: str) -> list[Assumption]:
    """Return the models whose weights are counted in another format than their config states."""
    return [
        Assumption(
            name=f"{STORED}{shape.name}",
            value=f"counted as {weights}, its config states {shape.stored}",
            kind="assumed",
            source=f"--weights {shape.stored} counts them as they are stored",
        )
        for shape in shapes
        if shape.stored and WEIGHTS[shape.stored] != WEIGHTS[weights]
    ]


def _heads(shapes: Sequence[Shape]) -> list[Assumption]:
    """Return what the configs of draft heads state."""
    found = []
    for shape in shapes:
        if shape.method:
            rows = shape.output or shape.vocabulary
            layers = f"{shape.layers} layer{'s' * (shape.layers != 1)}"
            tokens = f", {shape.lookahead} draft tokens" if shape.lookahead else ""
            value = f"draft head of {layers}, {rows:,} rows in its output{tokens}"
            found.append(Assumption(shape.name, value, "published", "its config.json"))
    return found


# --- acceptance ---------------------------------------------------------------------------------


def _acceptance(
    shapes: Mapping[str, Shape],
    order: Sequence[str],
    given: Any,
    temperature: float,
    text: Text,
) -> tuple[dict[tuple[str, str], Acceptance], list[Assumption]]:
    """Return the acceptance of every pair, and what was assumed."""
    heads = {name for name in order if shapes[name].is_head}
    target = order[-1]
    pairs = {
        f"{draft} > {verifier}": (draft, verifier)
        for draft, verifier in combinations(order, 2)
        if verifier not in heads and (draft not in heads or verifier == target)
    }
    values = given if isinstance(given, Mapping) else dict.fromkeys(pairs, given)
    for key in values.keys() - pairs:
        known = ", ".join(pairs) or "a draft model"
        raise UserError(f"'{key}' is not a pair of these models: use {known}")
    edges: dict[tuple[str, str], Acceptance] = {}
    assumptions = []
    for key, (draft, verifier) in pairs.items():
        value = values.get(key)
        if value is None:
            ratio = shapes[verifier].touched(1) / shapes[draft].touched(1)
            accepted, source = assumed(draft in heads, ratio, temperature, text)
            band = f"-{accepted.lower:.2f}/+{accepted.higher:.2f}"
            source = f"{band}, {text} text: {source}; measure yours: --acceptance '{key}=…'"
            kind: Kind = "assumed"
        else:
            accepted = _given(key, value)
            kind = "measured"
            source = "as given: of a draft token if those before it were accepted"
        edges[draft, verifier] = accepted
        first = round(accepted.edge.curve(1)[1], 4)
        assumptions.append(Assumption(f"acceptance {key}", first, kind, source))
    return edges, assumptions


def _given(key: str, value: Any) -> Acceptance:
    """Return an acceptance that was given. Raises: UserError: if it is not usable."""
    if isinstance(value, Edge):
        return Acceptance(value, GIVEN_BAND, GIVEN_BAND)
    if not 0 <= value < 1:
        raise UserError(
            f"the acceptance {value:g} of '{key}' is not usable: use a number from 0 to below 1"
        )
    return Acceptance(Edge(tail=float(value)), GIVEN_BAND, GIVEN_BAND)


def assumed(is_head: bool, ratio: float, temperature: float, text: Text) -> tuple[Acceptance, str]:
    """Return the assumed acceptance of a draft head, or of a draft model ``ratio`` times smaller
    than its target, with its source.
    """
    if is_head:
        low, middle, high = HEAD_ACCEPTANCE[text]
        source = HEAD_SOURCE
    else:
        base, band = MODEL_ACCEPTANCE[text]
        middle = base - PER_HALVING * log2(ratio / MODEL_RATIO)
        middle = min(0.95, max(0.2, middle))
        low = middle - band
        high = min(0.97, middle + band)
        source = MODEL_SOURCE
    cooled = max(0.05, middle - PER_TEMPERATURE * temperature)
    return Acceptance(Edge(tail=cooled), middle - low, high - middle), source


# --- what is listed -----------------------------------------------------------------------------


def _assumptions(machine: Machine, databases: bool, batch: int) -> list[Assumption]:
    """Return the figures of the machine that a prediction uses."""
    used = machine.efficiency
    gpu = machine.gpu
    sheet = f"{gpu.bandwidth:g} GB/s, {gpu.flops:g} TFLOP/s, {gpu.memory:g} GB"
    fixed = (
        f"{used.layer_us:g} + {used.reduce_us:g} µs per layer, {used.step_us:.0f} µs per step, "
        f"{used.sequence_us:g} µs per sequence"
    )
    found = [
        Assumption(gpu.name, sheet, "published", "data sheet"),
        Assumption(
            "share of the bandwidth", round(used.bandwidth["bf16"], 3), used.kind, used.source
        ),
        Assumption("share of the FLOP/s", round(used.compute, 3), "assumed", "not fitted"),
        Assumption("fixed time", fixed, used.kind, used.source),
        Assumption(
            "further time of a round",
            f"{used.round_us:.0f} µs",
            used.round_kind,
            used.round_source,
        ),
    ]
    if databases:
        drafts = (
            f"drafts {LENGTH} tokens in {HIT:.0%} of the rounds, each accepted with "
            f"{DATABASE_ACCEPTANCE:g}"
        )
        replay = "replay your own traffic: hsd-viz replay"
        found.append(Assumption("database", drafts, "assumed", replay))
    if batch > 1:
        waits = (
            "sequences of a batch do not wait for each other within a round; hierarchies lose some "
            "of this"
        )
        law = "the latency law is one of single sequences"
        found.append(Assumption("batch", waits, "assumed", law))
    return found


def _second_draft(choice: Choice) -> dict[str, Any] | None:
    """Return the gain of the best hierarchy of two draft models over the best single draft;
    ``None`` without one.
    """
    single = choice.best_single_draft
    if single is None:
        return None
    for two in choice.ranked:
        if structure_of(two.levels) is Structure.DRAFTS:
            best = min([single, choice.plain], key=lambda one: one.ms_per_token)
            return {"stack": two.stack, "over": best.stack, "gain": two.gain_over(best)}
    return None


def report_parts(plan: HardwarePlan) -> list[str | Table]:
    """Return the plan as lines and tables for a terminal."""
    parts: list[str | Table] = [plan.headline()]
    if not any(row.fits for row in plan.rows):
        cards = f"{plan.tp} × {plan.gpu}" if plan.tp > 1 else plan.gpu
        parts.append(
            f"the models do not fit into the memory of {cards}: more GPUs (--tp) or smaller "
            "--weights do"
        )
    parts += [
        f"{one.name}: {one.value}: {one.source}"
        for one in plan.assumptions
        if one.name.startswith(STORED)
    ]
    *stacks, drafts, assumed_table = plan.tables()
    first = plan.lookaheads[0]
    title = f"settings of serving engines at batch {first['batch']}, context {first['context']:,}:"
    flags = [f"  {engine}: {text}" for engine, text in plan.settings.items()]
    parts += [*stacks, "", *plan.answers(), drafts, "", title, *flags]
    return [*parts, assumed_table]
