"""``hsd.bench``: the command of the same name in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Unpack

from hsd_viz.decoding.engine import Engine
from hsd_viz.measure.bench.result import BenchResult, measure_stacks
from hsd_viz.measure.bench.settings import BenchSettings
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
            engine or measuring_engine(),
            chosen,
            prompts,
            settings,
            template=template,
            resume=None if resume is None else Path(resume),
            progress=update,
        )


@cache
def measuring_engine() -> Engine:
    """Return the engine of measurements: the shipped models on one thread."""
    from hsd_viz.engine.local import load_engine

    return load_engine(threads=1)
