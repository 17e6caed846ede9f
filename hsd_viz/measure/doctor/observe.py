"""Observations of a drafter: from files, from given figures, and with times of a hardware model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hsd_viz.disk import rereadable
from hsd_viz.errors import BadFile, UserError
from hsd_viz.latency.cards import gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.hardware import Machine, check_setting
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD
from hsd_viz.latency.shapes import Shape
from hsd_viz.measure.doctor.observation import Observation, even_rates
from hsd_viz.measure.doctor.observe_records import from_series, past_the_end
from hsd_viz.measure.doctor.observe_runs import from_trace, measure_stack
from hsd_viz.measure.doctor.options import DoctorOptions, Hardware, Known
from hsd_viz.records.changes import Change, changes
from hsd_viz.records.engine_settings import METHODS, NGRAMS, PARALLEL, method_of
from hsd_viz.records.read import NoRecord, read
from hsd_viz.settings.ranges import check_range
from hsd_viz.settings.spelling import spelled
from hsd_viz.stack import MAX_LOOKAHEAD
from hsd_viz.trace import Trace, TraceError

#: The largest difference between a round and its parts, as a share of the round: figures are
#: rounded.
PARTS_TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation, with further facts from its source.

    Attributes:
        seen: the observation.
        changes: the changes of figures within the record.
        notes: remarks on what was read, skipped and refused.
        model: the served model; "": not named.
        engine: the engine that wrote the record; "": no engine.
    """

    seen: Observation
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""
    engine: str = ""


def observed_in(options: DoctorOptions) -> Observed:
    """Return the observation from the evidence of the options, with their known figures.

    Raises:
        UserError: if the evidence cannot be used, or contradicts the figures.
    """
    if options.stack:
        observed = Observed(measure_stack(options.stack))
    elif options.record is None:
        observed = Observed(from_figures(options.acceptance, options.lookahead))
    elif isinstance(options.record, Trace):
        observed = Observed(from_trace(options.record, "this run"))
    else:
        observed = observe(Path(options.record), options.model, options.engine)
    return replace(observed, seen=with_figures(observed.seen, options.known))


def observe(path: Path, model: str | None = None, engine: str | None = None) -> Observed:
    """Return the observation of a trace or a record of another engine.

    Args:
        path: the file, or a pipe with its content.
        model: the model to observe in a record of several models.
        engine: the engine to observe in a record of several engines.

    Raises:
        UserError: if the file is neither, or contains several models.
    """
    with rereadable(path) as file:
        try:
            trace = Trace.load(file)
        except TraceError as error:
            return _observe_record(file, model, engine, str(error))
    return Observed(from_trace(trace, path.name))


def _observe_record(
    path: Path, model: str | None, engine: str | None, not_a_trace: str
) -> Observed:
    """Return the observation of a record of another engine.

    Args:
        path: the file.
        model: of a record of several models: this one.
        engine: of a record of several engines: this one.
        not_a_trace: why the file is not a trace.

    Raises:
        UserError: as :func:`observe`.
    """
    try:
        reading = read(path, engine)
    except NoRecord as error:
        why = f"{error}; as a trace: {not_a_trace}"
        raise BadFile(f"{path} is not a trace or a record of another engine: {why}") from None
    series = reading.one(model)
    notes = [*reading.read_notes(), *series.remarks]
    past = past_the_end(series, series.pooled())
    if past:
        notes.append(
            f"{past:,.0f} accepted tokens were past the ends of replies: where only sums are "
            "known, tokens per forward pass are of emitted ones"
        )
    return Observed(
        seen=from_series(series, path.name),
        changes=tuple(changes(series)),
        notes=tuple(dict.fromkeys(notes)),
        model=series.model,
        engine=series.engine,
    )


# --- given figures ------------------------------------------------------------------------------


def from_figures(acceptance: Sequence[float], lookahead: int | None = None) -> Observation:
    """Return the observation of acceptance figures as engines report them.

    Args:
        acceptance: accepted / drafted, a mean acceptance length (above 1), or P(the first k are
            accepted), k = 1, 2, ...
        lookahead: the number of draft tokens, with a single figure.

    Raises:
        UserError: if the figures are impossible.
    """
    source = "the acceptance given"
    if len(acceptance) > 1:
        earlier = 1.0
        for rate in acceptance:
            if not 0 <= rate <= earlier:
                raise UserError(
                    f"{source} must be from 0 to 1 and must not rise from position to position"
                )
            earlier = rate
        return Observation(source, rates=tuple(acceptance))
    if not acceptance:
        raise UserError(
            "nothing to examine: give a trace, a record of an engine, or the acceptance of drafts"
        )
    if lookahead is None:
        raise UserError(f"{source} needs the number of draft tokens: {spelled('lookahead')}")
    check_range("the lookahead", lookahead, 1, MAX_LOOKAHEAD)
    total = acceptance[0] - 1 if acceptance[0] > 1 else acceptance[0] * lookahead
    if not 0 <= total <= lookahead:
        raise UserError(
            f"{source}, {acceptance[0]:g}, is not possible with {lookahead} draft tokens"
        )
    return Observation(source, rates=even_rates(total, lookahead), by_mean=True)


def with_figures(seen: Observation, figures: Known) -> Observation:
    """Return the observation with known figures in place of its own.

    Raises:
        UserError: if the figures contradict each other.
    """
    step = figures.step_ms
    if step is None and figures.plain_speed is not None:
        step = 1e3 / figures.plain_speed
    times = (step, figures.verify_ms, figures.draft_ms, figures.overhead_ms, figures.speed)
    if any(time is not None for time in times):
        seen = replace(
            seen,
            step=seen.step if step is None else step,
            verify=seen.verify if figures.verify_ms is None else figures.verify_ms,
            draft=seen.draft if figures.draft_ms is None else figures.draft_ms,
            overhead=seen.overhead if figures.overhead_ms is None else figures.overhead_ms,
            round=seen.round if figures.speed is None else 1e3 * seen.length / figures.speed,
            # The speed-ups of repeated pairs do not apply to given times.
            speedups=(),
        )
        seen = _with_rest(seen, figures)
    return replace(
        seen,
        batch=seen.batch if figures.batch is None else figures.batch,
        method=seen.method if figures.method is None else method_of(figures.method),
        draft_model=figures.draft_model or seen.draft_model,
    )


def _with_rest(seen: Observation, figures: Known) -> Observation:
    """Return the observation with the rest of a round as its overhead.

    Raises:
        UserError: if the parts exceed the round, or if they are not the round of a given speed.
    """
    if seen.verify is None or seen.draft is None or seen.round is None:
        return seen
    left = seen.round - seen.verify - seen.draft
    if figures.overhead_ms is not None:
        parts = seen.verify + seen.draft + figures.overhead_ms
        if figures.speed is not None and abs(parts - seen.round) > PARTS_TOLERANCE * seen.round:
            raise UserError(
                f"verification, drafting and overhead take {parts:.4g} ms, but a round at "
                f"{figures.speed:.4g} tokens per second takes {seen.round:.4g} ms: leave out one "
                "of these figures"
            )
        # The given parts replace a recorded round.
        return replace(seen, round=None)
    if left < -PARTS_TOLERANCE * seen.round:
        spent = f"{seen.verify + seen.draft:.4g} ms, exceed the round of {seen.round:.4g} ms"
        raise UserError(f"verification and drafting, {spent}")
    return replace(seen, overhead=max(0.0, left))


# --- times of a hardware model --------------------------------------------------------------------


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
