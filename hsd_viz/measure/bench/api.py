"""The function ``hsd.bench``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hsd_viz.decoding.engine import Engine
from hsd_viz.measure.bench.options import BenchOptions
from hsd_viz.measure.bench.result import BenchResult, measure_stacks
from hsd_viz.models.families import find_family
from hsd_viz.prompts.suites import load_suite
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.stack import Stack
from hsd_viz.terminal import Progress, ignore_progress, progress_bar


@keywords_from(BenchOptions)
def bench(options: BenchOptions) -> BenchResult:
    """Measure stacks side by side on a suite of prompts, as ``hsd-viz bench`` does.

    Raises:
        UserError: for bad input.
    """
    with progress_bar() as update:
        return run(options, update)


def run(
    options: BenchOptions,
    progress: Progress = ignore_progress,
    command: str | None = None,
) -> BenchResult:
    """Run a bench and return its result.

    Args:
        options: what is measured.
        progress: called before each decode.
        command: as it was given, for the report.

    Raises:
        UserError: for bad input.
    """
    engine = options.engine or measuring_engine()
    suite = options.suite or find_family(engine.family).suite
    stacks = options.stacks
    return measure_stacks(
        engine,
        [stacks] if isinstance(stacks, str | Stack) else list(stacks),
        load_suite(str(suite)).limited(options.limit),
        options.settings,
        template=options.template,
        resume=None if options.resume is None else Path(options.resume),
        progress=progress,
        command=command,
    )


@cache
def measuring_engine() -> Engine:
    """Return the engine of measurements: the shipped models on one thread."""
    from hsd_viz.engine.local import load_engine

    return load_engine(threads=1)
