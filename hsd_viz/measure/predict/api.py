"""The function ``hsd.predict``: the speed of speculative decoding on other hardware.

It applies the latency law to step times of :mod:`hsd_viz.latency.hardware`. Every figure that was
not measured is listed with its kind and source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hsd_viz.errors import UserError
from hsd_viz.latency import hardware
from hsd_viz.latency.cards import gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.efficiency import efficiency_of
from hsd_viz.latency.hardware import Machine, check_setting
from hsd_viz.latency.shapes import WEIGHTS, Shape
from hsd_viz.measure.predict.assumed_acceptance import (
    Assumption,
    acceptance_of_pairs,
)
from hsd_viz.measure.predict.given_acceptance import given_acceptance
from hsd_viz.measure.predict.hardware_plan import FORMAT_PREFIX, HardwarePlan
from hsd_viz.measure.predict.options import PredictOptions
from hsd_viz.measure.predict.stacks_on_hardware import (
    DATABASE_ACCEPTANCE,
    HEADS,
    HIT,
    LENGTH,
    StacksOnHardware,
)
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.settings.spelling import spelled
from hsd_viz.text import counted


@keywords_from(PredictOptions)
def predict(options: PredictOptions) -> HardwarePlan:
    """Predict plain decoding, each single draft, each hierarchy, and each of them over a database.

    The models are the target first, then draft models. An acceptance is conditional, or a survival
    curve (an ``Edge``), for all pairs or by "draft > verifier". Measured times of a step are those
    of the first batch and context.

    Raises:
        UserError: for an unknown GPU or model, or an impossible combination.
    """
    return run(options)


def run(options: PredictOptions) -> HardwarePlan:
    """Predict for hardware, models and what is known of them, and return the result.

    Raises:
        UserError: for an unknown GPU or model, or an impossible combination.
    """
    acceptance = given_acceptance(options)
    shapes = _shapes([name for name in options.models if name])
    card = gpu_of(options.gpu, options.bandwidth, options.flops, options.gpu_memory)
    machine = Machine(card, options.tp, efficiency_of(card))
    check_setting(shapes[0], options.tp, options.weights, options.cache, options.context)
    machine = _with_measured_times(machine, shapes[0], options)
    smallest_first = sorted(shapes[1:], key=lambda shape: shape.touched(1))
    order = tuple(shape.name for shape in (*smallest_first, shapes[0]))
    by_name = {shape.name: shape for shape in shapes}
    edges, assumed = acceptance_of_pairs(
        by_name, order, acceptance, options.temperature, options.text
    )
    stacks = StacksOnHardware(
        machine, by_name, order, edges, options.databases, options.weights, options.cache
    )
    assumptions = [
        *_machine_assumptions(machine, options.databases, max(options.batch)),
        *_format_assumptions(shapes, options.weights),
        *_head_assumptions(shapes),
        *assumed,
    ]
    return stacks.plan(options.batch, options.context, assumptions)


def _with_measured_times(machine: Machine, target: Shape, options: PredictOptions) -> Machine:
    """Return the machine with times fitted to the measured ones."""
    if options.calibrate is not None:
        one_ms, many_ms = options.calibrate
        machine = hardware.fitted(
            machine,
            target,
            one_ms,
            many_ms,
            batch=options.batch[0],
            context=options.context[0],
            weights=options.weights,
            cache=options.cache,
        )
    if options.round_ms is not None:
        efficiency = machine.efficiency.with_round(options.round_ms)
        machine = replace(machine, efficiency=efficiency)
    return machine


def _shapes(models: Sequence[str]) -> tuple[Shape, ...]:
    """Return the shapes of the models, target first."""
    if not models:
        raise UserError(
            "no models: name the target first, then its draft models, as in "
            "llama-70b,llama-8b,llama-1b"
        )
    target = shape_of(models[0])
    if target.is_head:
        raise UserError(f"{target.name} is a draft head: name its target first")
    shapes = [target]
    for name in models[1:]:
        is_head = name in HEADS
        shapes.append(target.head(name) if is_head else shape_of(name).with_target(target))
    names = [shape.name for shape in shapes]
    if len(set(names)) < len(names):
        raise UserError(f"a model is named twice in {', '.join(names)}")
    for draft in shapes[1:]:
        if draft.touched(1) >= target.touched(1):
            raise UserError(
                f"{draft.name} is not smaller than the target {target.name}: name the target first"
            )
    return tuple(shapes)


# --- what is listed -----------------------------------------------------------------------------


def _machine_assumptions(machine: Machine, databases: bool, batch: int) -> list[Assumption]:
    """Return the figures of the machine that a prediction uses."""
    used = machine.efficiency
    gpu = machine.gpu
    sheet = f"{gpu.bandwidth:g} GB/s, {gpu.flops:g} TFLOP/s, {gpu.memory:g} GB"
    fixed = (
        f"{used.layer_us:g} + {used.reduce_us:g} µs per layer, {used.step_us:.0f} µs per step, "
        f"{used.sequence_us:g} µs per sequence"
    )
    assumptions = [
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
        assumptions.append(Assumption("database", drafts, "assumed", replay))
    if batch > 1:
        waits = (
            "sequences of a batch do not wait for each other within a round; hierarchies lose some "
            "of this"
        )
        law = "the latency law is one of single sequences"
        assumptions.append(Assumption("batch", waits, "assumed", law))
    return assumptions


def _format_assumptions(shapes: Sequence[Shape], weights: str) -> list[Assumption]:
    """Return the assumptions about weights counted in another format than their config states."""
    assumptions = []
    for shape in shapes:
        if shape.stored and WEIGHTS[shape.stored] != WEIGHTS[weights]:
            assumptions.append(
                Assumption(
                    name=f"{FORMAT_PREFIX}{shape.name}",
                    value=f"counted as {weights}, its config states {shape.stored}",
                    kind="assumed",
                    source=f"{spelled('weights')} {shape.stored} counts them as they are stored",
                )
            )
    return assumptions


def _head_assumptions(shapes: Sequence[Shape]) -> list[Assumption]:
    """Return the assumptions that the configs of draft heads state."""
    assumptions = []
    for shape in shapes:
        if not shape.method:
            continue
        layers = counted(shape.layers, "layer")
        rows = shape.output or shape.vocabulary
        value = f"draft head of {layers}, {rows:,} rows in its output"
        if shape.lookahead:
            value += f", {shape.lookahead} draft tokens"
        assumptions.append(Assumption(shape.name, value, "published", "its config.json"))
    return assumptions
