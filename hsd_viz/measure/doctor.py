"""The function of ``hsd-viz doctor``: why is speculative decoding not faster, and what to set?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hsd_viz.errors import UserError
from hsd_viz.measure.assumed_hardware import HardwareModel, with_hardware
from hsd_viz.measure.diagnosis import Diagnosis
from hsd_viz.measure.observe import Observed, from_figures, observe, with_times
from hsd_viz.measure.observe_runs import from_trace, measured
from hsd_viz.measure.verdict import diagnose
from hsd_viz.measure.what_if import Batch, predicted_batches
from hsd_viz.results.table import as_text
from hsd_viz.trace import Trace


def doctor(
    record: str | Path | Trace | None = None,
    *,
    measure: str = "",
    acceptance: Sequence[float] = (),
    lookahead: int | None = None,
    model: str | None = None,
    engine: str | None = None,
    gpu: str = "",
    models: Sequence[str] = (),
    tp: int = 1,
    context: int = 2048,
    weights: str = "bf16",
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
    speed: float | None = None,
    plain_speed: float | None = None,
    batch: int | None = None,
    method: str | None = None,
    draft_model: str | None = None,
    step: float | None = None,
    verify: float | None = None,
    draft: float | None = None,
    overhead: float | None = None,
) -> Diagnosis:
    """Return why speculative decoding is not faster, and what to set.

    Args:
        record: a trace, or the path of a trace or a record of another engine.
        measure: instead of a record: a stack, of which a few short decodes are measured here.
        acceptance: instead of both: as an engine prints it, with ``lookahead`` draft tokens.
        lookahead: draft tokens per round, with ``acceptance``.
        model: of a record of several models: this one.
        engine: of a record of several engines: this one.
        gpu: the card of the hardware model that fills in unknown times (:func:`hsd_viz.predict`).
        models: the target and its draft model on that card.
        tp: cards that share each model.
        context: tokens cached per request.
        weights: the format of the weights.
        bandwidth: GB/s of an unknown card.
        flops: TFLOP/s of an unknown card.
        memory: GB of an unknown card.
        speed: tokens per second of a request with speculation.
        plain_speed: tokens per second of a request without.
        batch: requests decoded together (default: as observed).
        method: the drafter (default: as observed).
        draft_model: the draft model.
        step: ms of a plain step.
        verify: ms of the forward pass of a round.
        draft: ms of drafting per round.
        overhead: other ms of a round.

    Raises:
        UserError: for bad input, or where not exactly one of record, measure and acceptance is
            given.
    """
    given = (record is not None, bool(measure), bool(acceptance))
    if sum(given) != 1:
        raise UserError("give one of a record, measure and acceptance")
    if bool(gpu or bandwidth) != bool(models):
        raise UserError("gpu and models belong together: name the GPU and the models on it")
    if measure:
        observed = Observed(measured(measure))
    elif isinstance(record, Trace):
        observed = Observed(from_trace(record, "this run"))
    elif record is None:
        observed = Observed(from_figures(acceptance, lookahead))
    else:
        observed = observe(Path(record), model, engine)
    seen = with_times(
        observed.seen,
        speed=speed,
        plain_speed=plain_speed,
        batch=batch,
        method=method,
        draft_model=draft_model,
        step=step,
        verify=verify,
        draft=draft,
        overhead=overhead,
    )
    filled = None
    predicted: tuple[Batch, ...] = ()
    if gpu or bandwidth:
        hardware = HardwareModel(
            gpu=gpu,
            models=tuple(models),
            tp=tp,
            context=context,
            weights=weights,
            bandwidth=bandwidth,
            flops=flops,
            memory=memory,
        )
        filled = with_hardware(seen, hardware)
        batches = predicted_batches(seen, lambda given: with_hardware(given, hardware))
        predicted = tuple(batches)
    diagnosis = diagnose(seen, filled, observed.changes)
    return replace(
        diagnosis,
        remarks=observed.notes,
        model=observed.model,
        batches=(*diagnosis.batches, *predicted),
    )


def below(diagnosis: Diagnosis, least: float) -> str:
    """Return why a health check at ``least`` fails, "" where it passes.

    It fails if the speed-up, or the bound of one that was not observed, is certainly below
    ``least``, if the value is, or if acceptance collapsed in the middle of the record.
    """
    for finding in diagnosis.findings:
        if finding.rule == "collapses in time":
            return finding.evidence
    if diagnosis.speedup.value is not None:
        if diagnosis.speedup.value < least:
            speedup = as_text(diagnosis.speedup, "{:.2f}")
            return f"the speed-up is {speedup}, below {least:g}"
        return ""
    if diagnosis.at_most is not None and diagnosis.at_most < least:
        return f"the speed-up is at most {diagnosis.at_most:.2f}, below {least:g}"
    return ""
