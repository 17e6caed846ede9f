"""Find the fastest stack on this machine: calibrate, rank by the latency law, measure the best, as JSON and text.

Calibration and measurement use different prompts of a suite: every second one of each category.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from hsd_viz import tables
from hsd_viz.bench.runner import Measurement, Settings, read_stacks, run_bench
from hsd_viz.calibration.basis import rate
from hsd_viz.calibration.calibrate import TARGET, TOKENS, Workload, calibrated, decode, run
from hsd_viz.calibration.store import StoredCalibration
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.engine import Engine
from hsd_viz.intervals import LEAST, estimate, ratio, resample
from hsd_viz.ladder.load import names
from hsd_viz.latency.law import Law, Prediction
from hsd_viz.latency.select import fill, select
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.tables import Cell, Table, lines
from hsd_viz.terminal import Progress
from hsd_viz.words import check_range

DATABASES = ("db",)
#: Prompts for the calibration, and as many for the measurement.
PROMPTS = 24
#: Predicted rows that are shown even if they were not measured.
SHOWN = 12
#: JSON data of a stack, or of a plan.
Data = dict[str, Any]


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
    settings: Settings | None = None,
    *,
    models: Sequence[str] | None = None,
    stacks: Sequence[str] = (),
    max_levels: int | None = None,
    measured: int = 0,
    fresh: bool = False,
    limit: int = PROMPTS,
    progress: Callable[[Progress], None] = lambda _: None,
    note: Callable[[str], None] = lambda message: None,
) -> Data | None:
    """Calibrate, rank and measure; return the plan as JSON data, or ``None`` if it was interrupted before the first
    calibration prompt was finished. Ctrl-C ends it with a partial result.

    Args:
        settings: of the measured decodes.
        models: the draft models; ``None``: those of the ladder below the target.
        stacks: predicted and measured in addition to the ranked ones, of which the best ``measured`` are measured (0:
            none).
        fresh: calibrate again where a stored calibration fits.

    Raises: ValueError: for bad input.
    """
    settings = settings or Settings()
    if max_levels is not None:
        check_range("the number of levels", max_levels, 1)
    check_range("the number of stacks to measure", measured, 0)
    if models is not None and (not all(models) or len(set(models)) < len(models)):
        raise ValueError(f"the models '{','.join(models)}' are not readable: name each once, separated by commas")
    parsed = [parse(text) for text in read_stacks(stacks) if text != TARGET]
    texts, others = split(suite, limit)
    if measured and not others.prompts:
        raise ValueError(f"the suite {suite.name} has one prompt: calibration and measurement need one each")
    drafts = _drafts(engine, texts, models, parsed, settings.sampling)
    levels = None if max_levels is None else max([max_levels, *(len(stack.parts) for stack in parsed)])
    work = Workload(
        texts,
        drafts if levels is None or levels > 1 else (),
        tuple(dict.fromkeys([*DATABASES, *(str(stack.bottom) for stack in parsed if stack.bottom is not None)])),
        max_levels=levels,
        sampling=settings.sampling,
        max_new_tokens=min(TOKENS, settings.max_new_tokens),
    )
    stored, was_stored = run(calibrated(engine, work, note, fresh=fresh), progress)
    if stored is None:
        return None
    choice, law = select(stored.calibration, max_levels=max_levels), Law(stored.calibration)
    asked = [law.predict(fill(stack, stored.calibration)) for stack in parsed]
    by_stack = {p.stack: p for p in (*choice.ranked, choice.plain, choice.shortest, *asked)}
    ranked = sorted(by_stack.values(), key=lambda p: p.ms_per_token)
    runs: dict[str, Data] = {}
    complete = stored.complete
    if measured and complete:
        # The best single draft, the best database alone and plain decoding are always measured.
        alone = [p for p in ranked if (s := parse(p.stack)).bottom is not None and not s.drafts]
        wanted = [*choice.ranked[:measured], choice.best_single_draft, *alone[:1], choice.plain, *asked]
        chosen = tuple(dict.fromkeys(p.stack for p in wanted if p is not None))
        measurement = run_bench(engine, chosen, others, settings, progress=progress)
        runs, complete = _pooled(measurement), measurement.complete
    rows = [_row(p, runs.get(p.stack)) for p in ranked]
    done = {row["stack"]: row["measured_ms_per_token"] for row in rows if row["measured_ms_per_token"] is not None}
    best, picked = min(done, key=lambda stack: done[stack], default=None), choice.picked.stack
    single, shortest = choice.best_single_draft, choice.shortest
    return {
        "models": [*drafts, TARGET],
        "hierarchies": rows,
        "picked": picked,
        "best_single_draft": None if single is None else single.stack,
        "kind": choice.kind,
        "explanation": choice.explain().splitlines(),
        "shortest_path": {"stack": shortest.stack, "predicted_ms_per_token": shortest.ms_per_token},
        "best_measured": best,
        "picked_over_best_measured": done[picked] / done[best] - 1 if best is not None and picked in done else None,
        "measured_on": f"{len(others.prompts)} other prompts" if done else None,
        "errors": _errors(rows),
        "calibration": _calibration(stored, was_stored),
        "complete": complete,
    }


def _drafts(
    engine: Engine, suite: Suite, wanted: Sequence[str] | None, stacks: Sequence[Stack], sampling: Sampling
) -> tuple[str, ...]:
    """Return the draft models, smallest first."""
    if wanted is None:
        ladder = names()
        wanted = ladder[: ladder.index(engine.target)] if engine.target in ladder else ()
    every = dict.fromkeys([*wanted, *(m.name for s in stacks for m in s.drafts)])
    drafts = [name for name in every if name not in (TARGET, engine.target)]
    if not drafts:
        return ()
    probe = str(Stack(None, (*(Model(name, 1) for name in drafts), Model(TARGET))))
    meta = decode(engine, suite.prompts[0], probe, 1, sampling).meta
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    return tuple(sorted(drafts, key=lambda name: sizes.get(name, 0)))


def _pooled(measurement: Measurement) -> dict[str, Data]:
    """Return milliseconds per token (with the 95 % bootstrap interval over prompts, prefill excluded) and calls per
    token by level, of each stack, over the prompts that every stack has finished.
    """
    runs, weights = {}, resample(len(measurement.prompts))
    for stack, outputs in measurement.outputs.items():
        tokens, ms = np.array([(o.timed_tokens, 1e3 * o.seconds) for o in outputs], float).reshape(-1, 2).T
        if total := float(tokens.sum()):
            calls: Counter[str] = sum((Counter(o.calls) for o in outputs), Counter())
            figure = estimate(ratio(weights @ ms, weights @ tokens), len(outputs))
            runs[stack] = {"ms": figure, "calls": {name: calls[name] / total for name in outputs[0].calls}}
    return runs


def _row(prediction: Prediction, run: Data | None) -> Data:
    ms, ends, calls = None, None, {}
    if run is not None:
        ms, calls = run["ms"].value, run["calls"]
        ends = list(run["ms"].ends or (ms, ms))
    database = parse(prediction.stack).bottom
    levels = dict(zip(prediction.names, prediction.forwards_per_token, strict=True))
    models = {name: n for name, n in levels.items() if name != str(database)}
    return {
        "stack": prediction.stack,
        "predicted_ms_per_token": prediction.ms_per_token,
        "measured_ms_per_token": ms,
        "measured_ms_per_token_ci": ends,
        "error": None if ms is None else prediction.ms_per_token / ms - 1,
        "forwards_per_token": {name: {"predicted": n, "measured": calls.get(name)} for name, n in models.items()},
        "acceptance_length": {
            "predicted": prediction.acceptance_length,
            "measured": None if ms is None else 1 / calls[TARGET],
        },
    }


def _errors(rows: Sequence[Data]) -> Data | None:
    """Return relative errors of the predictions: raw, and without the machine's drift since the calibration. The drift
    is that of plain decoding, whose prediction is only the cost of a forward pass.
    """
    done = [row for row in rows if row["measured_ms_per_token"] is not None]
    if not done:
        return None
    base = next((row for row in done if row["stack"] == TARGET), None)
    drift = None if base is None else base["measured_ms_per_token"] / base["predicted_ms_per_token"]
    passes = [n for row in done if row["stack"] != TARGET for n in row["forwards_per_token"].values() if n["measured"]]
    spread = lambda values: {"median": median(map(abs, values)), "worst": max(map(abs, values))} if values else None
    return {
        "drift": drift,
        "ms_per_token": spread([row["error"] for row in done]),
        "ms_per_token_without_drift": spread(
            [(1 + row["error"]) * drift - 1 for row in done if row is not base] if drift else []
        ),
        "forwards_per_token": spread([n["predicted"] / n["measured"] - 1 for n in passes]),
    }


def _calibration(stored: StoredCalibration, was_stored: bool) -> Data:
    edges = stored.calibration.edges
    return {
        "kept": was_stored,
        "age_seconds": stored.age(),
        "seconds": stored.seconds,
        "identity": dict(stored.identity),
        "texts": dict(stored.texts),
        "acceptance": [
            {"draft": d, "verifier": v, "rate": rate(edge), "rounds": stored.rounds[f"{d} > {v}"]}
            for (d, v), edge in edges.items()
        ],
        **stored.calibration.to_dict(),
    }


def text_parts(data: Mapping[str, Any]) -> list[str | Table]:
    """Return a plan for a terminal: calibration, table, pick."""
    before, table, after = _parts(data)
    return [*before, "", table, "", table.note, "", *after]


def page(data: Mapping[str, Any]) -> str:
    """Return the same as a page."""
    before, table, after = _parts(data)
    title = "The fastest hierarchy on this machine"
    return tables.page(title, [*map(str.strip, after), *before], [table], command=data.get("command", ""))


def _parts(data: Mapping[str, Any]) -> tuple[list[str], Table, list[str]]:
    """Return the lines about the calibration, the table of stacks, and the lines about the pick."""
    rows, on = data["hierarchies"], data["measured_on"]
    shown = [row for k, row in enumerate(rows) if k < SHOWN or row["measured_ms_per_token"] is not None]
    sure = on is not None and int(on.split(" ")[0]) >= LEAST

    def pair(of: Mapping[str, Any] | None, form: str) -> str:
        return " / ".join(
            form.format(x) for x in ((of or {}).get(k) for k in ("predicted", "measured")) if x is not None
        )

    def cells(row: Data) -> list[tables.Value]:
        ends = row["measured_ms_per_token_ci"] if sure else None
        ms = pair({key: row[f"{key}_ms_per_token"] for key in ("predicted", "measured")}, "{:.3f}")
        return [
            row["stack"],
            Cell(ms, f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""),
            "" if row["error"] is None else row["error"],
            pair(row["acceptance_length"], "{:.2f}"),
            *(pair(row["forwards_per_token"].get(name), "{:.3f}") for name in data["models"]),
        ]

    head = ["stack", "ms/token", "error", "acceptance length", *(f"{name} forwards/token" for name in data["models"])]
    note = f"predicted / measured on {on}" if on else "predicted"
    table = Table("Stacks", [head, *map(cells, shown)], note, forms={"error": ("{:+.1%}", 1.0)})
    return lines("calibration.jinja", about=data["calibration"]), table, lines("plan.jinja", data=data)
