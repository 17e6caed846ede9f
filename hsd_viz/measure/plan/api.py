"""``hsd.plan``: the command of the same name in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from hsd_viz.decoding.engine import Engine
from hsd_viz.machine import describe
from hsd_viz.measure.bench.api import measuring_engine
from hsd_viz.measure.plan import search as planning
from hsd_viz.measure.plan.result import PlanResult
from hsd_viz.measure.plan.settings import PlanSettings
from hsd_viz.options import SamplingOptions, sampling_from
from hsd_viz.prompts.suites import load_suite
from hsd_viz.terminal import progress_bar


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
    settings = PlanSettings(
        max_new_tokens=max_new_tokens,
        sampling=sampling_from(sampling),
        models=models,
        max_levels=max_levels,
        measure=measure,
        limit=limit,
        repeats=repeats,
        fresh=fresh,
    )
    with progress_bar() as update:
        planned = planning.plan(
            engine or measuring_engine(),
            load_suite(str(suite)),
            settings,
            progress=update,
        )
    return PlanResult(planned, describe())
