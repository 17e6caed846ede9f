"""The function ``hsd.bench``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from hsd_viz.decoding.engine import Engine
from hsd_viz.errors import UserError
from hsd_viz.machine import cpu_model, describe, threads
from hsd_viz.measure.bench.decodes import KeptDecodes
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.options import BenchOptions
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.bench.runner import read_stacks, run_bench
from hsd_viz.models.families import find_family
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.terminal import Progress, ignore_progress, progress_bar
from hsd_viz.version import __version__


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
    suite = load_suite(str(options.suite or find_family(engine.family).suite))
    suite = suite.limited(options.limit)
    with _finished_decodes(options, engine, suite) as kept:
        measurement = run_bench(
            engine,
            options.all_stacks,
            suite,
            options.settings,
            template=options.template,
            kept=kept,
            progress=progress,
        )
    # Describe the machine last, after the packages that detect a GPU are imported.
    return BenchResult(build_report(measurement, describe(), _models_of(engine), command))


def _finished_decodes(
    options: BenchOptions, engine: Engine, suite: Suite
) -> AbstractContextManager[KeptDecodes | None]:
    """Open the file of finished decodes of this suite, settings, models, machine and version;
    without one, nothing is kept.
    """
    if options.resume is None:
        return nullcontext()
    settings = options.settings
    if settings.state != "cold":
        raise UserError(
            f"a bench with the state '{settings.state}' cannot resume: "
            "what drafters remember is not kept; use the state cold"
        )
    facts = {
        "suite": suite.name,
        "prompts": sha256(msgspec.json.encode(suite.prompts)).hexdigest(),
        "stacks": list(read_stacks(options.all_stacks)),
        **_models_of(engine),
        "template": options.template,
        "cpu": cpu_model(),
        "hsd_viz": __version__,
        **asdict(settings),
    }
    return KeptDecodes(Path(options.resume), facts)


def _models_of(engine: Engine) -> dict[str, Any]:
    """Return the fields of a report about the models."""
    return {
        "family": engine.family,
        "target": engine.target,
        "databases": engine.databases,
        "device": engine.device,
        "dtype": engine.dtype,
        "threads": threads(),
    }


@cache
def measuring_engine() -> Engine:
    """Return the engine of measurements: the shipped models on one thread."""
    from hsd_viz.engine.local import load_engine

    return load_engine(threads=1)
