"""The function ``hsd.plan``."""

from __future__ import annotations

from hsd_viz.machine import describe
from hsd_viz.measure.bench.api import measuring_engine
from hsd_viz.measure.plan.options import PlanOptions
from hsd_viz.measure.plan.result import PlanResult
from hsd_viz.measure.plan.search import make_plan
from hsd_viz.models.families import find_family
from hsd_viz.prompts.suites import load_suite
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.terminal import Progress, ignore_progress, progress_bar


@keywords_from(PlanOptions)
def plan(options: PlanOptions) -> PlanResult:
    """Find the fastest stack on this machine, as ``hsd-viz plan`` does.

    Raises:
        UserError: for bad input.
    """
    with progress_bar() as update:
        return run(options, update)


def run(
    options: PlanOptions,
    progress: Progress = ignore_progress,
    command: str | None = None,
) -> PlanResult:
    """Run a plan and return its result.

    Args:
        options: what is searched and measured.
        progress: called before each decode.
        command: as it was given, for the report.

    Raises:
        UserError: for bad input.
    """
    engine = options.engine or measuring_engine()
    suite = load_suite(str(options.suite or find_family(engine.family).suite))
    return PlanResult(make_plan(engine, suite, options, progress), describe(), command)
