"""Find the fastest stack on this machine: calibrate, rank by the latency law, measure the best.

Calibration and measurement use different prompts of a suite: every second one of each category.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hsd_viz.bench.runner import Measurement, Settings, run_bench
from hsd_viz.calibration.calibrate import TARGET, TOKENS, Workload, calibrated, decode
from hsd_viz.calibration.store import StoredCalibration
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.engine import Engine
from hsd_viz.intervals import estimate, ratio, resample
from hsd_viz.ladder.load import names
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, Sensitivity, fill, select, sensitivities
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.terminal import Progress
from hsd_viz.words import check_range

DATABASES = ("db",)
#: Prompts for the calibration, and as many for the measurement.
PROMPTS = 24


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Settings of a plan. ``models`` are the draft models (``None``: those of the ladder below the target), ``stacks``
    are predicted and measured in addition to the ranked ones, of which the best ``measured`` are measured (0: none), on
    the calibration's own prompts with ``same_prompts``.
    """

    models: tuple[str, ...] | None = None
    stacks: tuple[str, ...] = ()
    max_levels: int | None = None
    measured: int = 0
    same_prompts: bool = False
    fresh: bool = False
    limit: int = PROMPTS
    repeats: int = 3
    max_new_tokens: int = 128
    sampling: Sampling = field(default_factory=Sampling)

    def __post_init__(self) -> None:
        if self.max_levels is not None:
            check_range("the number of levels", self.max_levels, 1)
        check_range("the number of stacks to measure", self.measured, 0)
        for name in ("limit", "repeats", "max_new_tokens"):
            check_range(f"the {name.replace('_', ' ')}", getattr(self, name), 1)
        if self.models is not None and (not all(self.models) or len(set(self.models)) < len(self.models)):
            raise ValueError(
                f"the models '{','.join(self.models)}' are not readable: name each model once, separated by commas"
            )
        for text in self.stacks:
            stack = parse(text)
            if stack.target.name != TARGET:
                raise ValueError(
                    f"the stack '{stack}' does not end in '{TARGET}': a plan has one target, set by --target"
                )


@dataclass(frozen=True, slots=True)
class MeasuredStack:
    """Figures of a stack over some prompts: ratios of sums, prefill excluded. ``interval`` is the 95 % bootstrap
    interval of ``ms_per_token`` over prompts. ``calls_per_token``: forward passes (steps of a launch count each) by
    model, look-ups by database.
    """

    ms_per_token: float
    interval: tuple[float, float]
    calls_per_token: dict[str, float]
    acceptance_length: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of a plan.

    ``rows`` are (prediction, measurement), fastest prediction first; ``was_stored``: the calibration is from an earlier
    run; ``measured_on`` names the measured prompts; ``complete`` is False after an interruption.
    """

    models: tuple[str, ...]
    stored: StoredCalibration
    was_stored: bool
    choice: Choice
    sensitivities: tuple[Sensitivity, ...]
    rows: tuple[tuple[Prediction, MeasuredStack | None], ...]
    measured_on: str
    complete: bool


def split(suite: Suite, limit: int) -> tuple[Suite, Suite]:
    """Return the prompts to calibrate on and to measure on: alternate ones of each category, at most ``limit`` of each.
    A single prompt is used for calibration.
    """
    halves: tuple[list, list] = ([], [])
    for category in suite.categories:
        for k, prompt in enumerate(p for p in suite.prompts if p.category == category):
            halves[k % 2].append(prompt)
    if not halves[1]:
        halves[0].sort(key=suite.prompts.index)
        halves[1].extend(halves[0][1::2])
        del halves[0][1::2]
    first, second = (Suite(suite.name, suite.categories, tuple(half)) for half in halves)
    return first.limited(limit), second.limited(limit) if second.prompts else second


def plan(
    engine: Engine,
    suite: Suite,
    request: PlanRequest,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    note: Callable[[str], None] = lambda message: None,
) -> Plan | None:
    """Calibrate, rank and measure; ``None`` if it was interrupted before the first calibration prompt was finished.
    Ctrl-C and ``cancelled`` end it with a partial result. Raises:
    ValueError: for bad input.
    """
    texts, others = split(suite, request.limit)
    if request.same_prompts:
        others = texts
    if request.measured and not others.prompts:
        raise ValueError(f"the suite {suite.name} has one prompt: calibration and measurement need one each")
    parsed = [parse(text) for text in request.stacks]
    drafts = _drafts(engine, texts, request, parsed)
    work = _workload(texts, request, parsed, drafts)
    calls = {"progress": progress, "cancelled": cancelled}
    stored, was_stored = calibrated(engine, work, fresh=request.fresh, note=note, **calls)
    if stored is None:
        return None
    choice = select(stored.calibration, max_levels=request.max_levels)
    law = Law(stored.calibration)
    asked = [law.predict(fill(stack, stored.calibration)) for stack in parsed]
    rows = {p.stack: p for p in (*choice.ranked, choice.plain, choice.shortest, *asked)}
    ranked = sorted(rows.values(), key=lambda p: p.ms_per_token)
    found: dict[str, MeasuredStack] = {}
    complete = stored.complete
    if request.measured and complete:
        wanted = (*choice.ranked[: request.measured], *_always(choice, ranked), *asked)
        chosen = tuple(dict.fromkeys(p.stack for p in wanted))
        settings = Settings(request.max_new_tokens, request.sampling, request.repeats)
        measurement = run_bench(engine, chosen, others, settings, **calls)
        found, complete = pooled(measurement), measurement.complete
    kind = "prompts of the calibration" if request.same_prompts else "other prompts"
    return Plan(
        models=(*drafts, TARGET),
        stored=stored,
        was_stored=was_stored,
        choice=choice,
        sensitivities=sensitivities(choice, stored.calibration, max_levels=request.max_levels),
        rows=tuple((p, found.get(p.stack)) for p in ranked),
        measured_on=f"{len(others.prompts)} {kind}",
        complete=complete,
    )


def _always(choice: Choice, ranked: Sequence[Prediction]) -> list[Prediction]:
    """Return the stacks that are always measured: the best single draft, the best database alone, plain decoding."""
    databases = [p for p in ranked if (s := parse(p.stack)).bottom is not None and not s.drafts]
    return [p for p in (choice.best_single_draft, databases[0] if databases else None, choice.plain) if p is not None]


def _workload(suite: Suite, request: PlanRequest, stacks: Sequence[Stack], drafts: tuple[str, ...]) -> Workload:
    """Return the decodes of the calibration that ranking and ``stacks`` need."""
    levels = None if request.max_levels is None else max([request.max_levels, *(len(s.parts) for s in stacks)])
    return Workload(
        suite,
        drafts if levels is None or levels > 1 else (),
        tuple(dict.fromkeys([*DATABASES, *(str(s.bottom) for s in stacks if s.bottom is not None)])),
        max_levels=levels,
        sampling=request.sampling,
        max_new_tokens=min(TOKENS, request.max_new_tokens),
    )


def _drafts(engine: Engine, suite: Suite, request: PlanRequest, stacks: Sequence[Stack]) -> tuple[str, ...]:
    """Return the draft models, smallest first."""
    target = engine.target
    wanted = request.models
    if wanted is None:
        ladder = names()
        wanted = ladder[: ladder.index(target)] if target in ladder else ()
    found = dict.fromkeys([*wanted, *(m.name for s in stacks for m in s.drafts)])
    drafts = [name for name in found if name not in (TARGET, target)]
    if not drafts:
        return ()
    probe = str(Stack(None, (*(Model(name, 1) for name in drafts), Model(TARGET))))
    meta = decode(engine, suite.prompts[0], probe, 1, request.sampling).meta
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    return tuple(sorted(drafts, key=lambda name: sizes.get(name, 0)))


def pooled(measurement: Measurement) -> dict[str, MeasuredStack]:
    """Return the figures by stack over the prompts that every stack has finished. The time of a prompt is the median
    over its repeats.
    """
    found = {}
    weights = resample(len(measurement.prompts))
    for stack, outputs in measurement.outputs.items():
        tokens, ms = np.array([(o.timed_tokens, 1e3 * o.seconds) for o in outputs], float).reshape(-1, 2).T
        if not tokens.sum():
            continue
        interval = estimate(ratio(weights @ ms, weights @ tokens), len(outputs))
        calls: Counter[str] = sum((Counter(o.calls) for o in outputs), Counter())
        rates = {name: calls[name] / float(tokens.sum()) for name in outputs[0].calls}
        value = float(ms.sum() / tokens.sum())
        found[stack] = MeasuredStack(value, interval.ends or (value, value), rates, 1 / rates[TARGET])
    return found
