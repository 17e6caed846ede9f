"""``hsd-viz plan``: the fastest stack of this machine, by the latency law and measured."""

from __future__ import annotations

from hsd_viz.cli.arguments import CommandLine
from hsd_viz.cli.shared import Json
from hsd_viz.engine.options import EngineOptions
from hsd_viz.measure.plan.settings import PlanSettings
from hsd_viz.models.families import find_family
from hsd_viz.terminal import status


def plan(
    *,
    settings: PlanSettings,
    json_: Json = None,
    machine: EngineOptions,
    command_line: CommandLine,
) -> int:
    """Calibrate this machine, rank hierarchies by the latency law, and measure the best."""
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.machine import describe
    from hsd_viz.measure.plan import search as planning
    from hsd_viz.measure.plan.result import PlanResult
    from hsd_viz.prompts.suites import load_suite
    from hsd_viz.results.result import show

    planned = planning.plan(
        LocalEngine.of(machine.on_one_thread()),
        load_suite(settings.suite or find_family(machine.family).suite),
        settings,
        progress=_show_progress,
    )
    status()
    return show(PlanResult(planned, describe(), command_line), json=json_)


def _show_progress(done: int, total: int, text: str) -> None:
    status(f"{done}/{total}  {text}" if total else text)
