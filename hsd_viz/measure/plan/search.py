"""Search for the fastest stack on this machine: calibrate, rank by the latency law, and measure the
best stacks on other prompts.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.options import Sampling
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import rate
from hsd_viz.latency.law import Prediction
from hsd_viz.latency.select import StackChoice, select
from hsd_viz.latency.stored import StoredCalibration
from hsd_viz.measure.bench.figures import figures
from hsd_viz.measure.bench.output import Output
from hsd_viz.measure.bench.runner import Measurement, run_bench
from hsd_viz.measure.plan.calibrate import TARGET, TOKENS, Workload, calibrated
from hsd_viz.measure.plan.options import PlanOptions
from hsd_viz.measure.plan.report import (
    CalibrationFacts,
    Compared,
    PairAcceptance,
    PlannedStack,
    PlanReport,
    PredictionErrors,
    ShortestPath,
    Spread,
)
from hsd_viz.models.families import find_family
from hsd_viz.prompts.suites import Suite
from hsd_viz.results.estimate import UNKNOWN, Estimate
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.stack import DATABASE
from hsd_viz.terminal import Progress, ignore_progress


def split(suite: Suite, limit: int) -> tuple[Suite, Suite]:
    """Split prompts into those to calibrate on and those to measure on, alternately by category and
    at most ``limit`` of each.
    """
    order = list(suite.categories)
    prompts = sorted(suite.prompts, key=lambda prompt: order.index(prompt.category))
    first = Suite(suite.name, suite.categories, tuple(prompts[0::2]))
    second = Suite(suite.name, suite.categories, tuple(prompts[1::2]))
    return first.limited(limit), second.limited(limit) if second.prompts else second


def make_plan(
    engine: Engine,
    suite: Suite,
    options: PlanOptions | None = None,
    progress: Progress = ignore_progress,
) -> PlanReport:
    """Calibrate, rank and measure. After Ctrl-C during the measurement, return a partial plan.

    Args:
        engine: the engine that decodes.
        suite: the suite whose prompts are split for calibration and measurement.
        options: the options of the search and the measurement.
        progress: called before each decode.

    Raises:
        UserError: for bad input.
    """
    options = options or PlanOptions()
    texts, others = split(suite, options.limit)
    if options.measure and not others.prompts:
        raise UserError(
            f"the suite {suite.name} has one prompt, and a measurement needs others than those of "
            "the calibration: add one; in a text file three or more blank lines separate prompts"
        )
    drafts = _drafts(engine, texts, options.models, options.sampling)
    work = Workload(
        suite=texts,
        drafts=drafts,
        databases=(DATABASE,),
        sampling=options.sampling,
        max_new_tokens=min(TOKENS, options.max_new_tokens),
    )
    stored, was_stored = calibrated(engine, work, progress, fresh=options.fresh)
    choice = select(stored.calibration, max_levels=options.max_levels)
    measurement: Measurement | None = None
    if options.measure:
        chosen = _stacks_to_measure(choice, options.measure)
        measurement = run_bench(engine, chosen, others, options.bench, progress=progress)
    calibration = _calibration(stored, was_stored)
    return _plan_of(choice, (*drafts, TARGET), calibration, measurement)


def _plan_of(
    choice: StackChoice,
    models: tuple[str, ...],
    calibration: CalibrationFacts,
    measurement: Measurement | None,
) -> PlanReport:
    """Return the plan of a ranking and its measurement."""
    stacks = _planned_stacks(choice, {} if measurement is None else measurement.outputs)
    done = {}
    for stack in stacks:
        if stack.measured_ms_per_token.value is not None:
            done[stack.stack] = stack.measured_ms_per_token.value
    picked = choice.picked.stack
    best, over_best = _against_best(picked, done)
    single = choice.best_single_draft
    shortest = choice.shortest
    return PlanReport(
        models=models,
        hierarchies=tuple(stacks),
        picked=picked,
        best_single_draft=None if single is None else single.stack,
        kind=choice.structure.words,
        shortest_path=ShortestPath(
            stack=shortest.stack, predicted_ms_per_token=shortest.ms_per_token
        ),
        best_measured=best,
        picked_over_best_measured=over_best,
        measured_prompts=len(measurement.suite.prompts) if measurement and done else None,
        errors=_errors(stacks),
        calibration=calibration,
        complete=measurement is None or measurement.complete,
    )


def _stacks_to_measure(choice: StackChoice, number: int) -> tuple[str, ...]:
    """Return the first stacks of a ranking, always with the best single draft, the best database
    without a model, and plain decoding.
    """
    alone = [p for p in choice.ranked if structure_of(p.levels) is Structure.DATABASE]
    wanted = [*choice.ranked[:number], choice.best_single_draft, *alone[:1], choice.plain]
    stacks = [prediction.stack for prediction in wanted if prediction is not None]
    return tuple(dict.fromkeys(stacks))


def _planned_stacks(
    choice: StackChoice, outputs: Mapping[str, Sequence[Output]]
) -> list[PlannedStack]:
    """Return the ranked stacks, plain decoding and the shortest path, by predicted time."""
    predictions = {}
    for prediction in (*choice.ranked, choice.plain, choice.shortest):
        predictions[prediction.stack] = prediction
    stacks = []
    for prediction in sorted(predictions.values(), key=lambda p: p.ms_per_token):
        stacks.append(_planned_stack(prediction, outputs.get(prediction.stack, ())))
    return stacks


def _against_best(picked: str, ms: Mapping[str, float]) -> tuple[str | None, float | None]:
    """Return the stack with the smallest measured ms per token, and the relative additional time of
    ``picked``; ``None``: not measured.
    """
    best = min(ms, key=lambda stack: ms[stack], default=None)
    if best is None or picked not in ms:
        return best, None
    return best, ms[picked] / ms[best] - 1


def _drafts(
    engine: Engine, suite: Suite, wanted: Sequence[str] | None, sampling: Sampling
) -> tuple[str, ...]:
    """Return the draft models, smallest first."""
    if wanted is None:
        wanted = find_family(engine.family).below(engine.target)
    drafts = [name for name in wanted if name not in (TARGET, engine.target)]
    if not drafts:
        return ()
    meta = Workload(suite, drafts, sampling=sampling).probe(engine)
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    return tuple(sorted(drafts, key=lambda name: sizes.get(name, 0)))


def _planned_stack(prediction: Prediction, outputs: Sequence[Output]) -> PlannedStack:
    """Return a stack with its predicted and measured values."""
    ms = UNKNOWN
    length = None
    calls: dict[str, float] = {}
    tokens = sum(output.timed_tokens for output in outputs)
    if tokens:
        speed = figures(outputs, outputs).tokens_per_second
        assert speed.value is not None
        slowest, fastest = speed.ends or (speed.value, speed.value)
        ms = Estimate(
            value=1e3 / speed.value, low=1e3 / fastest, high=1e3 / slowest, units=speed.units
        )
        counts: Counter[str] = Counter()
        for output in outputs:
            counts.update(output.calls)
        calls = {name: counts[name] / tokens for name in outputs[0].calls}
        length = 1 / calls[TARGET]
    forwards = {}
    levels = zip(prediction.names, prediction.forwards_per_token, strict=True)
    for name, predicted in levels:
        if name != prediction.levels.source:
            forwards[name] = Compared(predicted, calls.get(name))
    return PlannedStack(
        stack=prediction.stack,
        predicted_ms_per_token=prediction.ms_per_token,
        measured_ms_per_token=ms,
        forwards_per_token=forwards,
        acceptance_length=Compared(prediction.acceptance_length, length),
    )


def _errors(stacks: Sequence[PlannedStack]) -> PredictionErrors | None:
    """Return the relative errors of the predictions, with and without the drift of plain decoding
    since the calibration.
    """
    drift = None
    times = []
    times_of_drafting = []
    forwards = []
    for stack in stacks:
        ms = stack.measured_ms_per_token.value
        if ms is None or stack.error is None:
            continue
        times.append(stack.error)
        if stack.stack == TARGET:
            drift = ms / stack.predicted_ms_per_token
            continue
        times_of_drafting.append(stack.error)
        for passes in stack.forwards_per_token.values():
            if passes.measured:
                forwards.append(passes.predicted / passes.measured - 1)
    if not times:
        return None
    without_drift = []
    if drift:
        without_drift = [(1 + error) * drift - 1 for error in times_of_drafting]
    return PredictionErrors(
        drift=drift,
        ms_per_token=_spread(times),
        ms_per_token_without_drift=_spread(without_drift),
        forwards_per_token=_spread(forwards),
    )


def _spread(errors: Sequence[float]) -> Spread | None:
    """Return the median and the largest magnitude of relative errors."""
    if not errors:
        return None
    sizes = [abs(error) for error in errors]
    return Spread(median=median(sizes), worst=max(sizes))


def _calibration(stored: StoredCalibration, was_stored: bool) -> CalibrationFacts:
    """Return the facts of a calibration."""
    acceptance = []
    for (draft, verifier), edge in stored.calibration.edges.items():
        acceptance.append(
            PairAcceptance(
                draft=draft,
                verifier=verifier,
                rate=rate(edge),
                rounds=stored.rounds[f"{draft} > {verifier}"],
            )
        )
    return CalibrationFacts(
        kept=was_stored,
        created=stored.created,
        age_seconds=max(0.0, time.time() - stored.created),
        seconds=stored.seconds,
        identity=dict(stored.identity),
        texts=dict(stored.texts),
        acceptance=tuple(acceptance),
        inputs=stored.calibration,
    )
