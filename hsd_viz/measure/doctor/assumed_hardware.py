"""Fills in times that were not observed from a hardware model."""

from __future__ import annotations

from dataclasses import replace

from hsd_viz.errors import UserError
from hsd_viz.latency.cards import gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.hardware import Machine, check_setting
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD
from hsd_viz.latency.shapes import Shape
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.options import Hardware
from hsd_viz.records.engine_settings import METHODS, NGRAMS, PARALLEL
from hsd_viz.settings.spelling import spelled


def load_hardware(hardware: Hardware) -> tuple[Machine, Shape, Shape]:
    """Return the machine, the target, and its draft model or draft head.

    Raises:
        UserError: for unknown names, and for models that do not fit.
    """
    names = [name.strip() for name in hardware.models]
    if not names or names[0] in ("", *METHODS):
        raise UserError(
            f"the models '{','.join(names)}' have no target: name it first, as in llama-8b,eagle3"
        )
    shapes = [shape_of(name) for name in names if name not in METHODS]
    target = shapes[0]
    tp = hardware.tp
    weights = hardware.weights
    check_setting(target, tp, weights, context=(hardware.context,))
    card = gpu_of(hardware.gpu, hardware.bandwidth, hardware.flops, hardware.gpu_memory)
    machine = Machine(card, tp)
    head = shapes[1].with_target(target) if len(shapes) > 1 else target.head()
    share = machine.memory_share((target, head), batch=1, context=1, weights=weights)
    if share > 1:
        raise UserError(
            f"{target.name} does not fit into the memory of {tp} x {card.name}: "
            f"see {spelled('tp')} and {spelled('weights')}"
        )
    return machine, target, head


def with_hardware(seen: Observation, hardware: Hardware) -> Observation:
    """Return the observation with the times of a hardware model where they were not observed.

    The time of an observed step scales the predicted forward passes.

    Raises:
        UserError: for unknown names, and for models that do not fit.
    """
    machine, target, head = load_hardware(hardware)

    def step_ms(shape: Shape, tokens: float = 1) -> float:
        return machine.step_ms(
            shape,
            tokens=tokens,
            batch=seen.batch,
            context=hardware.context,
            weights=hardware.weights,
        )

    plain = step_ms(target)
    scale = 1.0 if seen.step is None else seen.step / plain
    verify = seen.verify
    if verify is None:
        verify = scale * step_ms(target, seen.drafted + 1)
    draft = seen.draft
    if draft is None:
        draft = scale * step_ms(head) * _forwards_of(seen)
    overhead = seen.overhead
    if overhead is None:
        overhead = machine.efficiency.round_us * 1e-3
        if seen.round is not None:
            # The rest of an observed round is overhead.
            overhead = max(0.0, seen.round - verify - draft)
    longest = 1 + max(MAX_PLANNED_LOOKAHEAD, seen.deepest)
    return replace(
        seen,
        curve=tuple(step_ms(target, tokens) for tokens in range(1, longest + 1)),
        step=plain if seen.step is None else seen.step,
        verify=verify,
        draft=draft,
        overhead=overhead,
    )


def _forwards_of(seen: Observation) -> float:
    """Return the number of forward passes of the drafter in a round."""
    if seen.method in NGRAMS:
        return 0.0
    return 1.0 if seen.method in PARALLEL else seen.drafted
