"""Which stack is fastest here: calibrate, rank by the law, and measure what was ranked.

Calibration and measurement use different prompts of a suite: every second one of each category.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from hsd_viz.bench.measure import Measured, measure
from hsd_viz.calibration.calibrate import TARGET, TOKENS, calibrated, probe
from hsd_viz.calibration.store import StoredCalibration
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import names
from hsd_viz.latency.costs import LevelCost
from hsd_viz.latency.mixture import MixedLaw, choose, fill
from hsd_viz.latency.select import Choice, Sensitivity, doubts
from hsd_viz.latency.vectorised import Prediction
from hsd_viz.progress import Progress
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import Stack, parse

DATABASES = ("db",)
#: Prompts for the calibration, and as many for the measurement.
PROMPTS = 24


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is asked for. ``models`` are the draft models (``None``: those of the ladder below the target), ``stacks`` are predicted and
    measured besides those that the ranking brings up; ``measured`` of its best are measured (0: nothing is), on the calibration's own
    prompts with ``same_prompts``.
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
                raise ValueError(f"{what} {value} is out of range: it is a whole number from {least}")
        if self.models is not None and (not all(self.models) or len(set(self.models)) < len(self.models)):
            raise ValueError(
                f"the models '{','.join(self.models)}' are not readable: name each once, with commas between them"
            )
        for text in self.stacks:
            stack = parse(text)
            if stack.target.name != TARGET:
                raise ValueError(
                    f"the stack '{stack}' does not end in '{TARGET}': all stacks of a plan have one target, named with --target"
                )


@dataclass(frozen=True, slots=True)
class Plan:
    """What was found. ``rows`` are (prediction, what was measured of it), fastest prediction first; ``kept_before``: the calibration
    had been kept from an earlier run; ``repriced`` has the measured stacks at the costs of the hour they were measured in, ms per
    token; ``measured_on`` says which prompts were measured; ``complete`` is False where something was cut
    short.
    """

    models: tuple[str, ...]
    kept: StoredCalibration
    kept_before: bool
    choice: Choice
    doubts: tuple[Sensitivity, ...]
    rows: tuple[tuple[Prediction, Measured | None], ...]
    repriced: Mapping[str, float]
    measured_on: str
    complete: bool


def split(suite: Suite, limit: int) -> tuple[Suite, Suite]:
    """Prompts to calibrate on and prompts to measure on: of each category every second one, at most ``limit`` of each.

    A single prompt is for calibration.
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
    wish: PlanRequest,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    note: Callable[[str], None] = lambda sentence: None,
) -> Plan | None:
    """Calibrate, rank, measure. ``None`` where it was cut short before anything was known.

    Ctrl-C and ``cancelled`` end it with what there is. Raises ``ValueError`` with one sentence for bad input.
    """
    texts, others = split(suite, wish.limit)
    if wish.same_prompts:
        others = texts
    if wish.measured and not others.prompts:
        raise ValueError(f"the suite {suite.name} holds one prompt: calibration and measurement need one each")
    parsed = [parse(text) for text in wish.stacks]
    drafts = _drafts(engine, texts, wish, parsed)
    bottoms = tuple(dict.fromkeys([*DATABASES, *(str(s.bottom) for s in parsed if s.bottom is not None)]))
    levels = None if wish.max_levels is None else max([wish.max_levels, *(len(s.parts) for s in parsed)])
    kept, before = calibrated(
        engine,
        texts,
        drafts if levels is None or levels > 1 else (),
        bottoms,
        fresh=wish.fresh,
        max_levels=levels,
        sampling=wish.sampling,
        max_new_tokens=min(TOKENS, wish.max_new_tokens),
        progress=progress,
        cancelled=cancelled,
        note=note,
    )
    if kept is None:
        return None
    choice = choose(kept.mixture, max_levels=wish.max_levels)
    law = MixedLaw(kept.mixture)
    asked = [law.predict(fill(stack, kept.mixture)) for stack in parsed]
    rows = {p.stack: p for p in (*choice.ranked, choice.plain, choice.affine_exact, *asked)}
    ranked = sorted(rows.values(), key=lambda p: p.ms_per_token)
    found: dict[str, Measured] = {}
    costs: dict[str, LevelCost] = {}
    complete = kept.complete
    if wish.measured and complete:
        wanted = (*choice.ranked[: wish.measured], *_always(choice, ranked), *asked)
        chosen = tuple(dict.fromkeys(p.stack for p in wanted))
        found, costs, complete = measure(
            engine,
            chosen,
            others,
            sampling=wish.sampling,
            max_new_tokens=wish.max_new_tokens,
            repeats=wish.repeats,
            progress=progress,
            cancelled=cancelled,
        )
    limits = {} if wish.max_levels is None else {"max_drafts": max(0, wish.max_levels - 2)}
    return Plan(
        models=(*drafts, TARGET),
        kept=kept,
        kept_before=before,
        choice=choice,
        doubts=doubts(choice, kept.calibration, **limits),
        rows=tuple((p, found.get(p.stack)) for p in ranked),
        repriced=_repriced(kept, costs, found),
        measured_on=f"{len(others.prompts)} {'prompts of the calibration' if wish.same_prompts else 'other prompts'}",
        complete=complete,
    )


def _repriced(kept: StoredCalibration, costs: dict[str, LevelCost], found: Mapping[str, Measured]) -> dict[str, float]:
    """What the law says of the measured stacks at the costs of the very decodes that measured them, acceptance being the calibration's."""
    law = MixedLaw(
        kept.mixture.priced(
            {**kept.calibration.costs, **{name: cost for name, cost in costs.items() if name in kept.calibration.costs}}
        )
    )
    return {stack: law.predict(stack).ms_per_token for stack in found}


def _always(choice: Choice, ranked: Sequence[Prediction]) -> list[Prediction]:
    """What is measured in any case: the best single draft, the best database alone, plain decoding."""
    databases = [p for p in ranked if (s := parse(p.stack)).bottom is not None and not s.drafts]
    return [p for p in (choice.best_single_draft, databases[0] if databases else None, choice.plain) if p is not None]


def _drafts(engine: Any, suite: Suite, wish: PlanRequest, stacks: Sequence[Stack]) -> tuple[str, ...]:
    """The draft models, smallest first."""
    models = getattr(engine, "models", None)
    # A padded target has the drafts of the one it is made from.
    target = models.base(models.target) if models is not None else TARGET
    wished = wish.models
    if wished is None:
        ladder = names()
        wished = ladder[: ladder.index(target)] if target in ladder else ()
    found = dict.fromkeys([*wished, *(m.name for s in stacks for m in s.drafts)])
    drafts = [name for name in found if name not in (TARGET, target)]
    if not drafts:
        return ()
    sizes = {
        m["name"]: m.get("parameters") or 0
        for m in probe(engine, suite.prompts[0], drafts, wish.sampling).meta["models"]
    }
    return tuple(sorted(drafts, key=lambda name: sizes.get(name, 0)))


# --- the report --------------------------------------------------------------------------------------------------------


def report(found: Plan, machine: dict[str, Any]) -> dict[str, Any]:
    """As JSON data: ``machine``, ``models``, ``hierarchies``, ``picked``, ``best_single_draft``, and what stands behind them."""
    choice, kept = found.choice, found.kept
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
        "doubts": [asdict(d) for d in found.doubts],
        "calibration": {
            "kept": found.kept_before,
            "age_seconds": kept.age(),
            "seconds": kept.seconds,
            "identity": dict(kept.identity),
            "texts": dict(kept.texts),
            "groups": len(kept.mixture.parts),
            "acceptance": [asdict(a) for a in kept.acceptance],
            "lookups": dict(kept.lookups),
            "forwards": dict(kept.forwards),
            "costs": kept.calibration.to_dict()["costs"],
        },
        "complete": found.complete,
    }


def _row(prediction: Prediction, measured: Measured | None, repriced: float | None) -> dict[str, Any]:
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
    """How far the predictions were off: relative errors, as they are, with the machine's drift since the calibration taken out, and at
    the costs of the measured decodes themselves.

    The drift is that of plain decoding, of which nothing but the cost of a forward is predicted.
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
    over = lambda values: {"median": median(map(abs, values)), "worst": max(map(abs, values))} if values else None
    return {
        "drift": drift,
        "ms_per_token": over([row["error"] for row in done]),
        "ms_per_token_without_drift": over([(1 + row["error"]) * drift - 1 for row in done if row is not plain])
        if drift
        else None,
        "ms_per_token_at_measured_costs": over([row["error_at_measured_costs"] for row in done]),
        "forwards_per_token": over(counts),
    }
