"""Find the fastest stack on this machine: calibrate, rank by the latency law, measure the best on
other prompts.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import rate
from hsd_viz.latency.law import Prediction
from hsd_viz.latency.select import select
from hsd_viz.latency.stored import StoredCalibration
from hsd_viz.measure.bench.figures import figures
from hsd_viz.measure.bench.output import Output
from hsd_viz.measure.bench.runner import BenchSettings, run_bench
from hsd_viz.measure.plan.calibrate import TARGET, TOKENS, Workload, calibrated
from hsd_viz.models.families import find_family
from hsd_viz.prompts.suites import Suite
from hsd_viz.ranges import check_range
from hsd_viz.results.estimate import LEAST
from hsd_viz.results.kinds import Structure, structure_of
from hsd_viz.results.page import lines
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table
from hsd_viz.stack import DATABASE
from hsd_viz.terminal import Progress
from hsd_viz.words import counted

#: Prompts to calibrate on, and as many to measure on; predicted rows that are shown even if they
#: were not measured.
PROMPTS = 24
SHOWN = 12
#: JSON data of a stack, or of a plan.
Data = dict[str, Any]


def split(suite: Suite, limit: int) -> tuple[Suite, Suite]:
    """Return the prompts to calibrate on and to measure on: alternate ones by category, at most
    ``limit`` of each.
    """
    order = list(suite.categories)
    prompts = sorted(suite.prompts, key=lambda prompt: order.index(prompt.category))
    first = Suite(suite.name, suite.categories, tuple(prompts[0::2]))
    second = Suite(suite.name, suite.categories, tuple(prompts[1::2]))
    return first.limited(limit), second.limited(limit) if second.prompts else second


def plan(
    engine: Engine,
    suite: Suite,
    settings: BenchSettings | None = None,
    *,
    models: Sequence[str] | None = None,
    max_levels: int | None = None,
    measured: int = 0,
    fresh: bool = False,
    limit: int = PROMPTS,
    progress: Progress = lambda *_: None,
) -> Data:
    """Calibrate, rank and measure; return the plan as JSON data, a partial one after Ctrl-C during
    the measurement.

    ``settings`` are of the measured decodes, ``models`` the draft models (``None``: those of the
    ladder below the target), ``measured`` counts the ranked stacks to measure; ``fresh`` calibrates
    again where a stored calibration fits.

    Raises:
        UserError: for bad input.
    """
    settings = settings or BenchSettings()
    if max_levels is not None:
        check_range("the number of levels", max_levels, 1)
    check_range("the number of stacks to measure", measured, 0)
    if models is not None and (not all(models) or len(set(models)) < len(models)):
        raise UserError(
            f"the models '{','.join(models)}' are not readable: name each once, separated by commas"
        )
    texts, others = split(suite, limit)
    if measured and not others.prompts:
        raise UserError(
            f"the suite {suite.name} has one prompt, and a measurement needs others than those of "
            "the calibration: add one; in a text file three or more blank lines separate prompts"
        )
    drafts = _drafts(engine, texts, models, settings.sampling)
    work = Workload(
        texts, drafts, (DATABASE,), settings.sampling, min(TOKENS, settings.max_new_tokens)
    )
    stored, was_stored = calibrated(engine, work, progress, fresh=fresh)
    choice = select(stored.calibration, max_levels=max_levels)
    picked = choice.picked.stack
    single = choice.best_single_draft
    shortest = choice.shortest
    ranked = {}
    for prediction in (*choice.ranked, choice.plain, shortest):
        ranked[prediction.stack] = prediction
    outputs: Mapping[str, Sequence[Output]] = {}
    complete = True
    if measured:
        # The best single draft, the best database alone and plain decoding are always measured.
        alone = [p for p in choice.ranked if structure_of(p.levels) is Structure.DATABASE]
        wanted = [*choice.ranked[:measured], single, *alone[:1], choice.plain]
        chosen = tuple(dict.fromkeys(p.stack for p in wanted if p is not None))
        measurement = run_bench(engine, chosen, others, settings, progress=progress)
        complete = measurement.complete
        outputs = measurement.outputs
    rows = []
    done = {}
    for prediction in sorted(ranked.values(), key=lambda p: p.ms_per_token):
        row = _row(prediction, outputs.get(prediction.stack, ()))
        rows.append(row)
        if row["measured_ms_per_token"] is not None:
            done[row["stack"]] = row["measured_ms_per_token"]
    best, over_best = _against_best(picked, done)
    return {
        "models": [*drafts, TARGET],
        "hierarchies": rows,
        "picked": picked,
        "best_single_draft": None if single is None else single.stack,
        "kind": choice.kind,
        "shortest_path": {"stack": shortest.stack, "predicted_ms_per_token": shortest.ms_per_token},
        "best_measured": best,
        "picked_over_best_measured": over_best,
        "measured_on": counted(len(others.prompts), "other prompt") if done else None,
        "errors": _errors(rows),
        "calibration": _calibration(stored, was_stored),
        "complete": complete,
    }


def _against_best(picked: str, ms: Mapping[str, float]) -> tuple[str | None, float | None]:
    """Return the stack with the least measured ms per token, and by how much more ``picked`` takes;
    ``None`` where it was not measured.
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


def _row(prediction: Prediction, outputs: Sequence[Output]) -> Data:
    """Return a stack as predicted and as measured: ms per token, prefill excluded, and calls per
    token by level.
    """
    ms = None
    ends = None
    calls = {}
    tokens = sum(o.timed_tokens for o in outputs)
    if tokens:
        block = figures(outputs, outputs)
        counts: Counter[str] = Counter()
        for output in outputs:
            counts.update(output.calls)
        speed = block["tokens_per_second"]
        calls = {name: counts[name] / tokens for name in outputs[0].calls}
        ms = 1e3 / speed
        ends = [1e3 / end for end in reversed(block["tokens_per_second_ci"] or [speed, speed])]
    database = prediction.levels.source
    forwards = {}
    levels = zip(prediction.names, prediction.forwards_per_token, strict=True)
    for name, predicted in levels:
        if name != database:
            forwards[name] = {"predicted": predicted, "measured": calls.get(name)}
    length = {
        "predicted": prediction.acceptance_length,
        "measured": None if ms is None else 1 / calls[TARGET],
    }
    return {
        "stack": prediction.stack,
        "predicted_ms_per_token": prediction.ms_per_token,
        "measured_ms_per_token": ms,
        "measured_ms_per_token_ci": ends,
        "error": None if ms is None else prediction.ms_per_token / ms - 1,
        "forwards_per_token": forwards,
        "acceptance_length": length,
    }


def _errors(rows: Sequence[Data]) -> Data | None:
    """Return relative errors of the predictions, also without the drift of plain decoding since the
    calibration.
    """
    done = {row["stack"]: row for row in rows if row["measured_ms_per_token"] is not None}
    if not done:
        return None
    base = done.pop(TARGET, None)
    drift = None if base is None else base["measured_ms_per_token"] / base["predicted_ms_per_token"]
    forwards = []
    for row in done.values():
        for passes in row["forwards_per_token"].values():
            if passes["measured"]:
                forwards.append(passes["predicted"] / passes["measured"] - 1)
    errors = [row["error"] for row in done.values()]
    without_drift = []
    if drift:
        without_drift = [(1 + error) * drift - 1 for error in errors]
    return {
        "drift": drift,
        "ms_per_token": _spread(errors if base is None else [base["error"], *errors]),
        "ms_per_token_without_drift": _spread(without_drift),
        "forwards_per_token": _spread(forwards),
    }


def _spread(values: Sequence[float]) -> Data | None:
    """Return the median and the largest size of relative errors."""
    if not values:
        return None
    return {"median": median(map(abs, values)), "worst": max(map(abs, values))}


def _calibration(stored: StoredCalibration, was_stored: bool) -> Data:
    acceptance = []
    for (draft, verifier), edge in stored.calibration.edges.items():
        acceptance.append(
            {
                "draft": draft,
                "verifier": verifier,
                "rate": rate(edge),
                "rounds": stored.rounds[f"{draft} > {verifier}"],
            }
        )
    return {
        "kept": was_stored,
        "age_seconds": max(0.0, time.time() - stored.created),
        "seconds": stored.seconds,
        "identity": dict(stored.identity),
        "texts": dict(stored.texts),
        "acceptance": acceptance,
        **stored.calibration.to_dict(),
    }


class PlanResult(Result):
    """The ranking of stacks on this machine, and what was measured of it.

    Attributes:
        data: the plan as JSON data.
    """

    title = "The fastest stack on this machine"
    noun = "plan"

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = dict(data)
        self.complete = bool(data["complete"])

    @property
    def picked(self) -> str:
        """The stack that the latency law selects."""
        return self.data["picked"]

    def lines(self) -> list[str]:
        """Return the facts of the calibration."""
        return lines("calibration.jinja", about=self.data["calibration"])

    def tables(self) -> list[Table]:
        """Return the stacks, fastest first: predicted, and measured where they were."""
        return [_stacks(self.data)]

    def parts(self) -> list[str | Table]:
        """Return calibration, stacks and the selected stack."""
        return [*self.lines(), *self.tables(), "", *lines("plan.jinja", data=self.data)]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        return self.data


def _stacks(data: Mapping[str, Any]) -> Table:
    models = data["models"]
    measured_on = data["measured_on"]
    is_sure = measured_on is not None and int(measured_on.split(" ")[0]) >= LEAST
    head = ["stack", "ms/token", "error", "acceptance length"]
    head += [f"{name} forwards/token" for name in models]
    rows: list[list[Any]] = [head]
    for place, row in enumerate(data["hierarchies"]):
        error = row["error"]
        if place >= SHOWN and error is None:
            continue
        ms = _pair(row, "{:.3f}", "_ms_per_token")
        if is_sure and error is not None:
            ms += " [{:.3f}, {:.3f}]".format(*row["measured_ms_per_token_ci"])
        length = _pair(row["acceptance_length"], "{:.2f}")
        passes = [_pair(row["forwards_per_token"].get(name, {}), "{:.3f}") for name in models]
        rows.append([row["stack"], ms, "" if error is None else error, length, *passes])
    note = f"predicted / measured on {measured_on}" if measured_on else "predicted"
    return Table("Stacks", rows, note, forms={"error": ("{:+.1%}", 1.0)})


def _pair(values: Mapping[str, Any], form: str, name: str = "") -> str:
    """Return ``predicted / measured``; the second is left out where it was not measured."""
    numbers = [values.get(kind + name) for kind in ("predicted", "measured")]
    return " / ".join(form.format(number) for number in numbers if number is not None)
