"""Find the fastest stack on this machine: calibrate, rank by the latency law, measure the best.

Calibration and measurement use different prompts of a suite: every second one of each category.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from hsd_viz.bench.measure import MeasuredStack, measure
from hsd_viz.calibration.calibrate import TARGET, TOKENS, Workload, calibrated, decode
from hsd_viz.calibration.store import StoredCalibration
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import names
from hsd_viz.latency.costs import LevelCost
from hsd_viz.latency.mixture import MixedLaw, choose, fill
from hsd_viz.latency.select import Choice, Sensitivity, sensitivities
from hsd_viz.latency.vectorised import Prediction
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.terminal import Progress

DATABASES = ("db",)
#: Prompts for the calibration, and as many for the measurement.
PROMPTS = 24


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Settings of a plan.

    ``models`` are the draft models (``None``: those of the ladder below the target), ``stacks`` are predicted and
    measured in addition to the ranked ones, of which the best ``measured`` are measured (0: none), on the calibration's
    own prompts with ``same_prompts``.
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
        for what, value, least in (
            ("the number of levels", self.max_levels, 1),
            ("the number of stacks to measure", self.measured, 0),
            ("the limit", self.limit, 1),
            ("the number of repeats", self.repeats, 1),
            ("the number of new tokens", self.max_new_tokens, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"{what} {value} is out of range: it must be a whole number from {least}")
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
class Plan:
    """The result of a plan.

    ``rows`` are (prediction, measurement), fastest prediction first; ``was_stored``: the calibration is from an earlier
    run; ``repriced`` has the predictions of the measured stacks at the costs of their own measurement, ms per token;
    ``measured_on`` names the measured prompts; ``complete`` is False after an interruption.
    """

    models: tuple[str, ...]
    stored: StoredCalibration
    was_stored: bool
    choice: Choice
    sensitivities: tuple[Sensitivity, ...]
    rows: tuple[tuple[Prediction, MeasuredStack | None], ...]
    repriced: Mapping[str, float]
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
    engine: Any,
    suite: Suite,
    request: PlanRequest,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    note: Callable[[str], None] = lambda message: None,
) -> Plan | None:
    """Calibrate, rank and measure; ``None`` if it was interrupted before the first calibration prompt was finished.

    Ctrl-C and ``cancelled`` end it with a partial result.

    Raises:
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
    choice = choose(stored.mixture, max_levels=request.max_levels)
    law = MixedLaw(stored.mixture)
    asked = [law.predict(fill(stack, stored.mixture)) for stack in parsed]
    rows = {p.stack: p for p in (*choice.ranked, choice.plain, choice.affine_exact, *asked)}
    ranked = sorted(rows.values(), key=lambda p: p.ms_per_token)
    found: dict[str, MeasuredStack] = {}
    costs: dict[str, LevelCost] = {}
    complete = stored.complete
    if request.measured and complete:
        wanted = (*choice.ranked[: request.measured], *_always(choice, ranked), *asked)
        chosen = tuple(dict.fromkeys(p.stack for p in wanted))
        options = {"sampling": request.sampling, "max_new_tokens": request.max_new_tokens, "repeats": request.repeats}
        found, costs, complete = measure(engine, chosen, others, **options, **calls)
    kind = "prompts of the calibration" if request.same_prompts else "other prompts"
    limits = {} if request.max_levels is None else {"max_drafts": max(0, request.max_levels - 2)}
    return Plan(
        models=(*drafts, TARGET),
        stored=stored,
        was_stored=was_stored,
        choice=choice,
        sensitivities=sensitivities(choice, stored.calibration, **limits),
        rows=tuple((p, found.get(p.stack)) for p in ranked),
        repriced=_repriced(stored, costs, found),
        measured_on=f"{len(others.prompts)} {kind}",
        complete=complete,
    )


def _repriced(
    stored: StoredCalibration, costs: dict[str, LevelCost], found: Mapping[str, MeasuredStack]
) -> dict[str, float]:
    """Return predictions of the measured stacks at the costs of the measurement."""
    known = stored.calibration.costs
    law = MixedLaw(stored.mixture.priced({name: costs.get(name, cost) for name, cost in known.items()}))
    return {stack: law.predict(stack).ms_per_token for stack in found}


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


def _drafts(engine: Any, suite: Suite, request: PlanRequest, stacks: Sequence[Stack]) -> tuple[str, ...]:
    """Return the draft models, smallest first."""
    models = getattr(engine, "models", None)
    # A padded target has the drafts of the model it is made from.
    target = models.base(models.target) if models is not None else TARGET
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


# --- the report -------------------------------------------------------------------------------------------------------


def report(found: Plan, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the plan as JSON data, with its calibration."""
    choice, stored = found.choice, found.stored
    rows = [_row(prediction, measured, found.repriced.get(prediction.stack)) for prediction, measured in found.rows]
    measured = [row for row in rows if row["measured_ms_per_token"] is not None]
    best = min(measured, key=lambda row: row["measured_ms_per_token"], default=None)
    picked = next((row for row in measured if row["stack"] == choice.picked.stack), None)
    over = None if picked is None else picked["measured_ms_per_token"] / best["measured_ms_per_token"] - 1
    return {
        "machine": machine,
        "models": list(found.models),
        "hierarchies": rows,
        "picked": choice.picked.stack,
        "best_single_draft": None if choice.best_single_draft is None else choice.best_single_draft.stack,
        "kind": choice.kind,
        "affine": {
            "stack": str(choice.affine.stack),
            "affine_ms_per_token": choice.affine.ms_per_token,
            "predicted_ms_per_token": choice.affine_exact.ms_per_token,
        },
        "best_measured": None if best is None else best["stack"],
        "picked_over_best_measured": over,
        "measured_on": found.measured_on if measured else None,
        "errors": _errors(rows),
        "doubts": [asdict(s) for s in found.sensitivities],
        "calibration": {
            "kept": found.was_stored,
            "age_seconds": stored.age(),
            "seconds": stored.seconds,
            "identity": dict(stored.identity),
            "texts": dict(stored.texts),
            "groups": len(stored.mixture.parts),
            "acceptance": [asdict(a) for a in stored.acceptance],
            "lookups": dict(stored.lookups),
            "forwards": dict(stored.forwards),
            "costs": stored.calibration.to_dict()["costs"],
        },
        "complete": found.complete,
    }


def _row(prediction: Prediction, measured: MeasuredStack | None, repriced: float | None) -> dict[str, Any]:
    stack = parse(prediction.stack)
    by_name = list(zip(prediction.names, prediction.forwards_per_token, strict=True))
    bottom = str(stack.bottom) if stack.bottom is not None else None
    looked = None if measured is None else next(iter(measured.lookups_per_token.values()), 0.0)
    return {
        "stack": prediction.stack,
        "predicted_ms_per_token": prediction.ms_per_token,
        "measured_ms_per_token": None if measured is None else measured.ms_per_token,
        "measured_ms_per_token_ci": None if measured is None else list(measured.interval),
        "error": None if measured is None else prediction.ms_per_token / measured.ms_per_token - 1,
        "predicted_at_measured_costs": repriced,
        "error_at_measured_costs": None if measured is None else repriced / measured.ms_per_token - 1,
        "forwards_per_token": {
            name: {"predicted": n, "measured": None if measured is None else measured.forwards_per_token.get(name)}
            for name, n in by_name
            if name != bottom
        },
        "lookups_per_token": {bottom: {"predicted": by_name[0][1], "measured": looked}} if bottom is not None else {},
        "acceptance_length": {
            "predicted": prediction.acceptance_length,
            "measured": None if measured is None else measured.acceptance_length,
        },
    }


def _errors(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return relative errors of the predictions: raw, without the machine's drift since the calibration, at measured
    costs.

    The drift is that of plain decoding, whose prediction is only the cost of a forward pass.
    """
    done = [row for row in rows if row["measured_ms_per_token"] is not None]
    if not done:
        return None
    plain = next((row for row in done if row["stack"] == TARGET), None)
    drift = None if plain is None else plain["measured_ms_per_token"] / plain["predicted_ms_per_token"]
    counts = [
        n["predicted"] / n["measured"] - 1
        for row in done
        if row["stack"] != TARGET
        for n in row["forwards_per_token"].values()
        if n["measured"]
    ]
    spread = lambda values: {"median": median(map(abs, values)), "worst": max(map(abs, values))} if values else None
    return {
        "drift": drift,
        "ms_per_token": spread([row["error"] for row in done]),
        "ms_per_token_without_drift": spread([(1 + row["error"]) * drift - 1 for row in done if row is not plain])
        if drift
        else None,
        "ms_per_token_at_measured_costs": spread([row["error_at_measured_costs"] for row in done]),
        "forwards_per_token": spread(counts),
    }
