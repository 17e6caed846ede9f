"""``hsd-viz plan``: the fastest stack of this machine, by the latency law and measured."""

from __future__ import annotations

from dataclasses import replace

from hsd_viz.cli.functions_as_commands import CommandLine
from hsd_viz.cli.shared import Html, Json
from hsd_viz.engine.options import EngineOptions
from hsd_viz.measure.plan.options import PlanOptions
from hsd_viz.terminal import progress_bar


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
    from hsd_viz.measure.plan.api import run
    from hsd_viz.results.result import print_result

    engine = LocalEngine.of(machine.on_one_thread())
    with progress_bar() as update:
        result = run(replace(options, engine=engine), update, command_line)
    return print_result(result, json=json_, html=html)
