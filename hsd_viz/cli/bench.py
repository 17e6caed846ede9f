"""``hsd-viz bench``: what stacks measure, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz import terminal
from hsd_viz.cli.arguments import CommandLine, Out
from hsd_viz.cli.shared import Html, Json
from hsd_viz.declare import Setting
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError, parsing
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.models.families import find_family
from hsd_viz.stack import MAX_LOOKAHEAD


def bench(
    *,
    stack: A[
        tuple[str, ...],
        Setting(
            metavar="S",
            help=f"a stack (lookahead 1-{MAX_LOOKAHEAD}); may be given several times",
        ),
    ] = (),
    suite: A[
        str | None,
        Setting(
            metavar="NAME|PATH",
            help=(
                "prompts: a suite, a .jsonl file of questions or a "
                "text file (default: the family's suite)"
            ),
        ),
    ] = None,
    template: A[
        Literal["auto", "chat", "vicuna", "plain"],
        Setting(
            help="how questions become prompts",
        ),
    ] = "auto",
    limit: A[
        int | None,
        Setting(
            metavar="N",
            help="use N prompts, from all categories in turn",
        ),
    ] = None,
    settings: BenchSettings,
    resume: A[
        Out | None,
        Setting(
            metavar="FILE",
            help="keep finished decodes there, and continue a stopped bench from it",
        ),
    ] = None,
    json_: Json = None,
    html: Html = None,
    from_: A[
        Path | None,
        Setting(
            metavar="REPORT.json",
            help="show a saved --json report instead of measuring",
        ),
    ] = None,
    machine: EngineOptions,
    command_line: CommandLine,
) -> int:
    """Measure stacks side by side on a suite of prompts."""
    from hsd_viz.disk import MOST_JSON, read_text
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.bench.result import BenchResult, measure_stacks
    from hsd_viz.prompts.suites import load_suite
    from hsd_viz.results.result import show

    if from_ is not None:
        with parsing(from_):
            report = read_report(read_text(from_, "report", MOST_JSON), str(from_))
        return show(BenchResult(report), html=html)

    if not stack:
        raise UserError("give the stacks to measure with --stack, or a saved report with --from")
    prompts = load_suite(suite or find_family(machine.family).suite).limited(limit)
    engine = LocalEngine.of(machine.on_one_thread())
    with terminal.progress_bar() as bar:
        result = measure_stacks(
            engine,
            stack,
            prompts,
            settings,
            template=template,
            resume=resume,
            progress=bar,
            command=command_line,
        )
    return show(result, json=json_, html=html)
