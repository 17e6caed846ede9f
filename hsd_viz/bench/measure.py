"""Measure stacks in the terms of the latency law: ms per emitted token, and forward passes per token of each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from hsd_viz.calibration.calibrate import WARM_UP_TOKENS, at, decode
from hsd_viz.calibration.estimate import bottom_of, level_names
from hsd_viz.calibration.timing import timings
from hsd_viz.decoding.settings import Sampling
from hsd_viz.intervals import estimate, resample
from hsd_viz.latency.costs import LevelCost
from hsd_viz.prompts.suites import Suite
from hsd_viz.terminal import Progress
from hsd_viz.trace import Trace


@dataclass(frozen=True, slots=True)
class MeasuredStack:
    """Figures of a stack over some prompts: ratios of sums, prefill excluded.

    ``interval`` is the 95 % bootstrap interval of ``ms_per_token`` over prompts. ``forwards_per_token`` goes by model
    (steps of a launch count each), ``lookups_per_token`` has a database's look-ups by its name.
    """

    ms_per_token: float
    interval: tuple[float, float]
    forwards_per_token: dict[str, float]
    lookups_per_token: dict[str, float]
    acceptance_length: float


@dataclass(frozen=True, slots=True)
class _Decode:
    """Counts of one decode; ``seconds`` without prefill."""

    tokens: int
    seconds: float
    forwards: Counter
    lookups: Counter


def measure(
    engine: Any,
    stacks: Sequence[str],
    suite: Suite,
    *,
    sampling: Sampling | None = None,
    max_new_tokens: int,
    repeats: int = 3,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, MeasuredStack], dict[str, LevelCost], bool]:
    """Decode each prompt with all stacks in turn; return (figures by stack, costs by model, whether it is complete).

    The costs are those of these decodes, in case the machine has changed since its calibration. The time of a prompt is
    the median over the ``repeats``. After an interruption the figures cover the prompts that every stack has finished
    at least once.
    """
    sampling = sampling or Sampling()
    done: dict[tuple[int, str], list[_Decode]] = {}
    traces: list[Trace] = []
    total, complete = repeats * len(suite.prompts) * len(stacks), False
    try:
        for stack in stacks:
            progress(Progress(0, total, stack, ""))
            decode(engine, suite.prompts[0], stack, min(WARM_UP_TOKENS, max_new_tokens), sampling)
        count = 0
        for _ in range(repeats):
            for k, prompt in enumerate(suite.prompts):
                for stack in stacks:
                    if cancelled():
                        raise KeyboardInterrupt
                    progress(Progress(count, total, stack, prompt.id))
                    trace = decode(engine, prompt, stack, max_new_tokens, at(sampling, k))
                    done.setdefault((k, stack), []).append(_one(trace))
                    trace.token_rows.clear()
                    traces.append(trace)
                    count += 1
        complete = True
    except KeyboardInterrupt:
        pass
    finished = [k for k in range(len(suite.prompts)) if all((k, stack) in done for stack in stacks)]
    found = {}
    for stack in stacks:
        runs = [done[k, stack] for k in finished]
        if sum(run[0].tokens for run in runs):
            found[stack] = _pooled(runs)
    costs = timings((trace, level_names(trace), bottom_of(trace)) for trace in traces).models
    return found, dict(costs), complete


def _one(trace: Trace) -> _Decode:
    forwards, lookups = Counter(), Counter()
    for call in trace.call_rows:
        if call.kind in ("draft", "verify"):
            forwards[call.name] += call.steps
        elif call.kind == "lookup":
            lookups[call.name] += 1
    seconds = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9
    for name in level_names(trace).values():
        if name not in lookups:
            forwards.setdefault(name, 0)
    return _Decode(len(trace.token_rows), seconds, forwards, lookups)


def _pooled(runs: Sequence[Sequence[_Decode]]) -> MeasuredStack:
    tokens = np.array([run[0].tokens for run in runs], float)
    ms = np.array([median(one.seconds for one in run) * 1e3 for run in runs])
    weights = resample(len(runs))
    over_prompts = estimate((weights @ ms) / np.maximum(1, weights @ tokens), len(runs))
    count = tokens.sum()
    forwards, lookups = Counter(), Counter()
    for run in runs:
        forwards.update(run[0].forwards)
        lookups.update(run[0].lookups)
    rate = lambda counted: {name: n / count for name, n in counted.items()}
    per_token = rate(forwards)
    value = float(ms.sum() / count)
    interval = over_prompts.interval or (value, value)
    return MeasuredStack(value, interval, per_token, rate(lookups), 1 / per_token["target"])
