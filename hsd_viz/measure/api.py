"""``hsd.bench`` and ``hsd.plan``: the commands of the same names in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Unpack

from hsd_viz.engine import Engine
from hsd_viz.machine import describe
from hsd_viz.measure import plan as planning
from hsd_viz.measure.bench import BenchResult, measure_stacks
from hsd_viz.measure.plan import PlanResult
from hsd_viz.measure.runner import BenchSettings
from hsd_viz.options import SamplingOptions, sampling_from
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar


def bench(
    suite: str | Path,
    stacks: str | Stack | Sequence[str | Stack],
    *,
    limit: int | None = None,
    repeats: int = 3,
    state: str = "cold",
    budget: int | None = None,
    profile: bool = False,
    template: str = "auto",
    resume: str | Path | None = None,
    engine: Engine | None = None,
    max_new_tokens: int = 128,
    **sampling: Unpack[SamplingOptions],
) -> BenchResult:
    """Measure stacks side by side on a suite of prompts, as ``hsd-viz bench`` does.

    Args:
        suite: a suite's name, or the path of a file with prompts or questions.
        stacks: the stacks; plain decoding is added.
        limit: so many prompts, from all categories in turn.
        repeats: runs of each prompt and stack; times are medians.
        state: whether drafters that learn are ``cold``, ``warm`` or ``both``.
        budget: the most draft tokens of a drafter at a time.
        profile: whether to show where the time of a round goes.
        template: how questions become prompts.
        resume: a file that keeps the finished decodes, from which a stopped bench resumes.
        engine: what decodes; by default the shipped models on one thread.
        max_new_tokens: the most tokens of an output.
        sampling: the settings of :class:`~hsd_viz.options.Sampling`.

    Raises:
        UserError: for bad input.
    """
    settings = BenchSettings(
        max_new_tokens=max_new_tokens,
        sampling=sampling_from(sampling),
        repeats=repeats,
        profile=profile,
        state=state,
        budget=budget,
    )
    chosen = [stacks] if isinstance(stacks, str | Stack) else list(stacks)
    prompts = load_suite(str(suite)).limited(limit)
    with progress_bar() as update:
        return measure_stacks(
            engine or _measuring_engine(),
            chosen,
            prompts,
            settings,
            template=template,
            resume=None if resume is None else Path(resume),
            progress=update,
        )


def plan(
    suite: str | Path = "heldout",
    models: Sequence[str] | None = None,
    *,
    max_levels: int | None = None,
    measure: int = 0,
    limit: int = 24,
    repeats: int = 3,
    fresh: bool = False,
    engine: Engine | None = None,
    max_new_tokens: int = 128,
    **sampling: Unpack[SamplingOptions],
) -> PlanResult:
    """Find the fastest stack on this machine, as ``hsd-viz plan`` does.

    Args:
        suite: prompts to calibrate on, and other ones of it to measure on.
        models: draft models that may take part; by default those below the target.
        max_levels: the most parts of a stack, target and database included.
        measure: so many of the best stacks are measured, too.
        limit: the most prompts of each.
        repeats: measured runs of each prompt and stack.
        fresh: whether to calibrate again, even if a stored calibration fits.
        engine: what decodes; by default the shipped models on one thread.
        max_new_tokens: the most tokens of an output.
        sampling: the settings of :class:`~hsd_viz.options.Sampling`.

    Raises:
        UserError: for bad input.
    """
    if not {"costs", "acceptance"}.isdisjoint(sampling):
        raise TypeError("plan() measures the costs: use hsd.choose(costs=..., acceptance=...)")
    settings = BenchSettings(max_new_tokens, sampling_from(sampling), repeats)
    with progress_bar() as update:
        data = planning.plan(
            engine or _measuring_engine(),
            load_suite(str(suite)),
            settings,
            models=models,
            max_levels=max_levels,
            measured=measure,
            fresh=fresh,
            limit=limit,
            progress=update,
        )
    return planning.PlanResult({"machine": describe(), **data, "command": None})


@cache
def _measuring_engine() -> Engine:
    """Return the engine of measurements: the shipped models on one thread."""
    from hsd_viz.engine.local import load_engine

    return load_engine(threads=1)
