"""``hsd-viz bench``: what stacks measure, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated as A

from hsd_viz.cli.functions_as_commands import CommandLine
from hsd_viz.cli.shared import Html, Json
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.measure.bench.options import BenchOptions
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.terminal import progress_bar


def bench(
    *,
    options: BenchOptions,
    json_: Json = None,
    html: Html = None,
    from_: A[
        Path | None,
        Setting("show a saved --json report instead of measuring", CliOption("REPORT.json")),
    ] = None,
    machine: EngineOptions,
    command_line: CommandLine,
) -> int:
    """Measure stacks side by side on a suite of prompts."""
    from hsd_viz.disk import MAX_JSON, read_text
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.measure.bench.api import run
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.bench.result import BenchResult
    from hsd_viz.results.result import print_result

    if from_ is not None:
        report = read_report(read_text(from_, "report", MAX_JSON), str(from_))
        return print_result(BenchResult(report, is_saved=True), json=json_, html=html)

    if not options.stacks:
        raise UserError("give the stacks to measure with --stack, or a saved report with --from")
    engine = LocalEngine.of(machine.on_one_thread())
    with progress_bar() as update:
        result = run(replace(options, engine=engine), update, command_line)
    return print_result(result, json=json_, html=html)
