"""Measure one point of a grid: a target of some cost and acceptance, and the stacks that the law
selects for it.

The law is calibrated on separate prompts. It selects the best setting of each kind of stack, and
these are measured on other prompts, interleaved, so its figures are predictions. A hierarchy,
selected beforehand, is compared with the fastest *measured* single draft; selection in hindsight
can only favour the single draft.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.harness import interleave
from hsd_viz.decoding.options import Sampling
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import rate
from hsd_viz.latency.hierarchies import join
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD, Law, Prediction
from hsd_viz.latency.select import best_lookaheads
from hsd_viz.latency.stored import StoredCalibration
from hsd_viz.measure.bench.figures import figures
from hsd_viz.measure.bench.output import WARM_UP_TOKENS, Output, from_trace, median_of
from hsd_viz.measure.plan.calibrate import Workload, at, calibrate, decode
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import DATABASE, TARGET, parse
from hsd_viz.terminal import Progress, ignore_progress

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine

#: What a draft model might cost and how much more of it might be accepted, to see by the law where
#: a hierarchy would pay.
CHEAPER = (1.0, 0.5, 0.25, 0.0)
CLOSER = (0.0, 0.1, 0.2, 0.3)
_START = 4
_MAX_TEXT = 256


@dataclass(frozen=True, slots=True)
class Picks:
    """The law's selection, best first per kind; only ``databases`` have a database, below
    models.
    """

    plain: Prediction
    single: tuple[Prediction, ...]
    models: tuple[Prediction, ...]
    databases: tuple[Prediction, ...]
    database_alone: Prediction | None

    @property
    def measured(self) -> tuple[Prediction, ...]:
        """The stacks to measure: all single drafts, the two best hierarchies of models, the best
        over a database.
        """
        alone = () if self.database_alone is None else (self.database_alone,)
        return (self.plain, *self.single, *self.models[:2], *alone, *self.databases[:1])


def picks(
    calibration: Calibration,
    drafts: Sequence[str],
    *,
    bottom: str | None = DATABASE,
    max_lookahead: int = MAX_PLANNED_LOOKAHEAD,
) -> Picks:
    """Return the best lookaheads by the law for every subset of ``drafts`` (smallest first), with
    and without ``bottom``.
    """
    law = Law(calibration)

    def best(database: str | None, models: tuple[str, ...]) -> Prediction:
        return law.predict(
            join(
                (database, models), best_lookaheads(law, (database, models), max_lookahead), TARGET
            )
        )

    def ranked(database: str | None, sizes: Sequence[int]) -> tuple[Prediction, ...]:
        predictions = []
        for size in sizes:
            for models in combinations(drafts, size):
                predictions.append(best(database, models))
        return tuple(sorted(predictions, key=lambda prediction: prediction.ms_per_token))

    several = range(2, len(drafts) + 1)
    return Picks(
        plain=best(None, ()),
        single=ranked(None, (1,)),
        models=ranked(None, several),
        databases=ranked(bottom, range(1, len(drafts) + 1)) if bottom else (),
        database_alone=best(bottom, ()) if bottom else None,
    )


def needed(calibration: Calibration, drafts: Sequence[str]) -> dict[str, Any] | None:
    """Return the predicted speed-up of the best hierarchy of models over the best single draft for
    hypothetical drafts, texts pooled.

    ``gain[k][j]`` is that speed-up if the drafts below the largest cost ``cheaper[k]`` times as
    much, and draft models accept each other's tokens with a probability higher by ``closer[j]``.
    ``None`` with one draft model.
    """
    if len(drafts) < 2:
        return None
    gain = []
    for scale in CHEAPER:
        row = []
        for more in CLOSER:
            costs = dict(calibration.costs)
            for lower in drafts[:-1]:
                costs[lower] = costs[lower].scaled(scale)
            edges = dict(calibration.edges)
            for pair, edge in calibration.edges.items():
                if pair[1] != calibration.target:
                    edges[pair] = edge.shifted(more)
            choice = picks(replace(calibration, costs=costs, edges=edges), drafts, bottom=None)
            row.append(choice.single[0].ms_per_token / choice.models[0].ms_per_token)
        gain.append(row)
    return {"cheaper": list(CHEAPER), "closer": list(CLOSER), "gain": gain}


def measure_point(
    engine: LocalEngine,
    drafts: Sequence[str],
    texts: Suite,
    others: Suite,
    sampling: Sampling,
    *,
    tokens: int,
    calibration_tokens: int,
    repeats: int,
    progress: Progress = ignore_progress,
) -> dict[str, Any]:
    """Calibrate on ``texts``, select, measure on ``others``; return the point as JSON data."""
    begun = time.time()
    work = Workload(
        texts, drafts, (DATABASE,), sampling=sampling, max_new_tokens=calibration_tokens
    )
    stored = calibrate(engine, work, progress)
    choice = picks(stored.calibration, drafts)
    predicted = {prediction.stack: prediction for prediction in choice.measured}
    outputs = measured(
        engine,
        tuple(predicted),
        others,
        sampling,
        tokens=tokens,
        repeats=repeats,
        progress=progress,
    )
    for runs in outputs.values():
        if not any(output.timed_tokens for output in runs):
            raise UserError("nothing was decoded on the prompts: every text ended at once")
    rows = []
    ms = {}
    for prediction in predicted.values():
        row = _row(prediction, choice.plain, outputs, sampling.greedy)
        rows.append(row)
        ms[row["stack"]] = row["ms_per_token"]
    single = min((prediction.stack for prediction in choice.single), key=ms.__getitem__)
    compared = {
        "models_over_single_draft": (choice.models, single),
        "databases_over_single_draft": (choice.databases, single),
        "databases_over_database_alone": (
            choice.databases,
            choice.database_alone and choice.database_alone.stack,
        ),
    }
    comparisons: dict[str, Any] = {}
    for name, (hierarchies, over) in compared.items():
        comparisons[name] = None
        if hierarchies and over:
            comparisons[name] = _compared(hierarchies[0], predicted[over], outputs)
    return {
        **_costs(stored, drafts),
        "acceptance": _acceptance(stored),
        "overlap": overlap(engine, drafts, others),
        "best_single_draft": single,
        "rows": rows,
        **comparisons,
        "needed": needed(stored.calibration, drafts),
        "load_average": psutil.getloadavg()[0],
        "seconds": time.time() - begun,
    }


def measured(
    engine: LocalEngine,
    stacks: Sequence[str],
    suite: Suite,
    sampling: Sampling,
    *,
    tokens: int,
    repeats: int,
    progress: Progress = ignore_progress,
) -> dict[str, list[Output]]:
    """Decode every prompt with every stack, interleaved; return outputs by stack, medians of
    ``repeats``.
    """
    runs: dict[tuple[str, int], list[Output]] = {}
    total = repeats * len(suite.prompts) * len(stacks)
    for stack in stacks:
        progress(0, total, f"{stack}  warming up")
        decode(engine, suite.prompts[0], stack, WARM_UP_TOKENS, sampling)
    for done, ((k, prompt), stack) in enumerate(
        interleave(enumerate(suite.prompts), stacks, repeats)
    ):
        progress(done, total, f"{stack}  {prompt.id}")
        trace = decode(engine, prompt, stack, tokens, at(sampling, k))
        runs.setdefault((stack, k), []).append(from_trace(trace))
    outputs = {}
    for stack in stacks:
        outputs[stack] = [median_of(runs[stack, k]) for k in range(len(suite.prompts))]
    return outputs


def overlap(engine: LocalEngine, drafts: Sequence[str], suite: Suite) -> dict[str, float]:
    """Return the mean of sum(min(p, q)) of the target and each draft model over all positions of
    the prompts, temperature 1.

    This is the probability that a token of the draft model is accepted (Leviathan et al. 2023) on
    the prompts' text.
    """
    import torch

    texts = []
    for prompt in suite.prompts:
        ids = engine.tokenizer.encode(prompt.text)[:_MAX_TEXT]
        texts.append(torch.tensor([ids], device=engine.models.device))

    def rows(name: str) -> torch.Tensor:
        distributions = []
        with torch.inference_mode():
            for ids in texts:
                scores = engine.module(name)(ids).logits[0].float()
                distributions.append(torch.softmax(scores, -1))
            return torch.cat(distributions)

    p = rows(TARGET)
    overlaps = {}
    for name in drafts:
        common = torch.minimum(p, rows(name)).sum(-1)
        overlaps[name] = float(common.mean())
    return overlaps


def _acceptance(stored: StoredCalibration) -> dict[str, Any]:
    by_pair = {}
    for (draft, verifier), edge in stored.calibration.edges.items():
        pair = f"{draft} > {verifier}"
        by_pair[pair] = {"rate": rate(edge), "rounds": stored.rounds[pair]}
    return by_pair


def _costs(stored: StoredCalibration, drafts: Sequence[str]) -> dict[str, Any]:
    """Return the costs of draft tokens and of the target's forward pass in rounds (ms and
    relative), and of wider ones.
    """
    target = stored.calibration.costs[TARGET]
    step = target.verifying(1)
    ms_per_forward = {}
    cost_ratio = {}
    for name in drafts:
        # A launch drafts several tokens at once: its cost is divided by a typical number of them.
        ms = stored.calibration.costs[name].alone(_START) / _START
        ms_per_forward[name] = ms
        cost_ratio[name] = ms / step
    ms_per_forward[TARGET] = step
    verifying_over_one = {}
    for tokens in (2, 4, 8, 16):
        verifying_over_one[str(tokens)] = target.verifying(tokens) / step
    return {
        "ms_per_forward": ms_per_forward,
        "cost_ratio": cost_ratio,
        "verifying_over_one": verifying_over_one,
    }


def _row(
    predicted: Prediction, plain: Prediction, by_stack: dict[str, list[Output]], greedy: bool
) -> dict[str, Any]:
    outputs = by_stack[predicted.stack]
    plainly = by_stack[TARGET]
    row_figures = figures(outputs, plainly)
    speed = row_figures.tokens_per_second
    interval = speed.ends
    ms = 1e3 / speed.value
    gain = plain.ms_per_token / predicted.ms_per_token
    same = sum(o.token_ids == p.token_ids for o, p in zip(outputs, plainly, strict=True))
    return {
        "stack": predicted.stack,
        "kind": _kind(predicted.stack),
        "ms_per_token": ms,
        "ms_per_token_ci": None if interval is None else [1e3 / s for s in reversed(interval)],
        "predicted_ms_per_token": predicted.ms_per_token,
        "prediction_error": predicted.ms_per_token / ms - 1,
        **row_figures.speedup_over_plain.named("speedup_over_plain"),
        "predicted_speedup_over_plain": gain,
        "speedup_prediction_error": gain / row_figures.speedup_over_plain.value - 1,
        "acceptance_length": row_figures.mean_acceptance_length.value,
        "predicted_acceptance_length": predicted.acceptance_length,
        "same_as_plain": [same, len(plainly)] if greedy else None,
    }


def _kind(text: str) -> str:
    stack = parse(text)
    if stack.bottom is not None:
        return "databases under models" if stack.drafts else "databases"
    return ("plain", "one draft", "models")[min(2, len(stack.drafts))]


def _compared(
    hierarchy: Prediction, over: Prediction, by_stack: dict[str, list[Output]]
) -> dict[str, Any]:
    """Return the speed-up of the one over the other on the same prompts."""
    figures_of_pair = figures(by_stack[hierarchy.stack], by_stack[over.stack])
    return {
        "hierarchy": hierarchy.stack,
        "over": over.stack,
        **figures_of_pair.speedup_over_plain.named("speedup"),
        "predicted_speedup": over.ms_per_token / hierarchy.ms_per_token,
    }
