"""``hsd-viz plan``: the fastest stack of this machine, by the latency law and measured."""

from __future__ import annotations

from dataclasses import replace

from hsd_viz.cli.functions_as_commands import CommandLine
from hsd_viz.cli.shared import Html, Json
from hsd_viz.engine.options import EngineOptions
from hsd_viz.measure.plan.options import PlanOptions
from hsd_viz.terminal import status


def plan(
    *,
    options: PlanOptions,
    json_: Json = None,
    html: Html = None,
    machine: EngineOptions,
    command_line: CommandLine,
) -> int:
    """Calibrate this machine, rank hierarchies by the latency law, and measure the best."""
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.measure.plan.api import planned
    from hsd_viz.results.result import print_result

    engine = LocalEngine.of(machine.on_one_thread())
    result = planned(replace(options, engine=engine), _show_progress, command_line)
    status()
    return print_result(result, json=json_, html=html)


def _show_progress(done: int, total: int, text: str) -> None:
    status(f"{done}/{total}  {text}" if total else text)
