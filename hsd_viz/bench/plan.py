"""Find the fastest stack on this machine: calibrate, rank by the latency law, measure the best, as JSON and text.

Calibration and measurement use different prompts of a suite: every second one of each category.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import numpy as np

from hsd_viz.bench.runner import Measurement, Settings, run_bench
from hsd_viz.calibration.basis import rate
from hsd_viz.calibration.calibrate import TARGET, TOKENS, Workload, calibrated, decode, run
from hsd_viz.calibration.store import StoredCalibration
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.engine import Engine
from hsd_viz.intervals import LEAST, estimate, ratio, resample
from hsd_viz.ladder.load import names
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import Choice, Sensitivity, fill, select, sensitivities
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.tables import Cell, Table, Value, lines, page
from hsd_viz.terminal import Progress, plain
from hsd_viz.words import check_range

DATABASES = ("db",)
#: Prompts for the calibration, and as many for the measurement.
PROMPTS = 24
#: Predicted rows that are shown even if they were not measured.
SHOWN = 12
_ERRORS = {
    "ms/token": "ms_per_token",
    "ms/token without the machine's drift": "ms_per_token_without_drift",
    "forwards/token": "forwards_per_token",
}


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
    note: Callable[[str], None] = lambda message: None,
) -> Plan | None:
    """Calibrate, rank and measure; ``None`` if it was interrupted before the first calibration prompt was finished.
    Ctrl-C ends it with a partial result. Raises: ValueError: for bad input.
    """
    texts, others = split(suite, request.limit)
    if request.same_prompts:
        others = texts
    if request.measured and not others.prompts:
        raise ValueError(f"the suite {suite.name} has one prompt: calibration and measurement need one each")
    parsed = [parse(text) for text in request.stacks]
    drafts = _drafts(engine, texts, request, parsed)
    work = _workload(texts, request, parsed, drafts)
    stored, was_stored = run(calibrated(engine, work, note, fresh=request.fresh), progress)
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
        measurement = run_bench(engine, chosen, others, settings, progress=progress)
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


def report(found: Plan, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the plan as JSON data, with its calibration."""
    choice, stored = found.choice, found.stored
    rows = [_row_data(prediction, measured) for prediction, measured in found.rows]
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
        "shortest_path": {
            "stack": choice.shortest.stack,
            "predicted_ms_per_token": choice.shortest.ms_per_token,
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
            "acceptance": [
                {
                    "draft": draft,
                    "verifier": verifier,
                    "rate": rate(edge),
                    "rounds": stored.rounds[f"{draft} > {verifier}"],
                }
                for (draft, verifier), edge in stored.calibration.edges.items()
            ],
            **stored.calibration.to_dict(),
        },
        "complete": found.complete,
    }


def _row_data(prediction: Prediction, measured: MeasuredStack | None) -> dict[str, Any]:
    bottom = parse(prediction.stack).bottom
    levels = dict(zip(prediction.names, prediction.forwards_per_token, strict=True))
    asked = {str(bottom): levels.pop(str(bottom))} if bottom is not None else {}
    ms, length, calls, looked = None, None, {}, None
    if measured is not None:
        ms, length, calls = measured.ms_per_token, measured.acceptance_length, measured.calls_per_token
        looked = calls.get(bottom.name, 0.0) if bottom is not None else 0.0
    return {
        "stack": prediction.stack,
        "predicted_ms_per_token": prediction.ms_per_token,
        "measured_ms_per_token": ms,
        "measured_ms_per_token_ci": None if measured is None else list(measured.interval),
        "error": None if ms is None else prediction.ms_per_token / ms - 1,
        "forwards_per_token": {name: {"predicted": n, "measured": calls.get(name)} for name, n in levels.items()},
        "lookups_per_token": {name: {"predicted": n, "measured": looked} for name, n in asked.items()},
        "acceptance_length": {"predicted": prediction.acceptance_length, "measured": length},
    }


def _errors(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return relative errors of the predictions: raw, and without the machine's drift since the calibration. The drift
    is that of plain decoding, whose prediction is only the cost of a forward pass.
    """
    done = [row for row in rows if row["measured_ms_per_token"] is not None]
    if not done:
        return None
    base = next((row for row in done if row["stack"] == TARGET), None)
    drift = None if base is None else base["measured_ms_per_token"] / base["predicted_ms_per_token"]
    counts = [
        n["predicted"] / n["measured"] - 1
        for row in done
        if row["stack"] != TARGET
        for n in row["forwards_per_token"].values()
        if n["measured"]
    ]
    spread = lambda values: {"median": median(map(abs, values)), "worst": max(map(abs, values))} if values else None
    undrifted = [(1 + row["error"]) * drift - 1 for row in done if row is not base] if drift else []
    return {
        "drift": drift,
        "ms_per_token": spread([row["error"] for row in done]),
        "ms_per_token_without_drift": spread(undrifted),
        "forwards_per_token": spread(counts),
    }


def plan_table(result: Plan, data: dict[str, Any]) -> str:
    """Return a plan and its report ``data`` as text: calibration, table, pick and its sensitivity."""
    before, table, after = _parts(result, data)
    return plain([*before, "", table, "", table.note, "", *after])


def plan_page(result: Plan, data: dict[str, Any]) -> str:
    """Return the same as a page."""
    before, table, after = _parts(result, data)
    title = "The fastest hierarchy on this machine"
    return page(title, [*map(str.strip, after), *before], [table], command=data.get("command", ""))


def _parts(result: Plan, data: dict[str, Any]) -> tuple[list[str], Table, list[str]]:
    """Return the lines about the calibration, the table of stacks, and the lines about the pick."""
    shown = [row for k, row in enumerate(data["hierarchies"]) if k < SHOWN or row["measured_ms_per_token"] is not None]
    sure = int(result.measured_on.split(" ")[0]) >= LEAST
    head = ["stack", "ms/token", "error", "acceptance length", *(f"{name} forwards/token" for name in result.models)]
    rows = [head, *(_cells(row, result.models, sure) for row in shown)]
    note = f"predicted / measured on {data['measured_on']}" if data["measured_on"] else "predicted"
    before = lines("calibration.jinja", about=data["calibration"], ago=_ago(result.stored.age()))
    errors = {what: (data["errors"] or {}).get(key) for what, key in _ERRORS.items()}
    after = lines("plan.jinja", data=data, choice=result.choice, errors=errors)
    return before, Table("Stacks", rows, note, forms={"error": ("{:+.1%}", 1.0)}), after


def _ago(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _cells(row: dict[str, Any], models: Sequence[str], sure: bool) -> list[Value]:
    def pair(of: dict[str, Any] | None, form: str) -> str:
        shown = [] if of is None else [form.format(x) for x in (of["predicted"], of["measured"]) if x is not None]
        return " / ".join(shown)

    ends = row["measured_ms_per_token_ci"] if sure else None
    ms = pair({key: row[f"{key}_ms_per_token"] for key in ("predicted", "measured")}, "{:.3f}")
    return [
        row["stack"],
        Cell(ms, f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""),
        "" if row["error"] is None else row["error"],
        pair(row["acceptance_length"], "{:.2f}"),
        *(pair(row["forwards_per_token"].get(name), "{:.3f}") for name in models),
    ]
