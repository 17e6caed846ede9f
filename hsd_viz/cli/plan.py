"""``hsd-viz plan``: the fastest stack of this machine, by the latency law and measured."""

from __future__ import annotations

from typing import Annotated as A

from hsd_viz.cli.arguments import CommandLine
from hsd_viz.cli.shared import Json
from hsd_viz.declare import Setting
from hsd_viz.engine.options import EngineOptions
from hsd_viz.models.families import find_family
from hsd_viz.options import DecodingOptions
from hsd_viz.terminal import status


def plan(
    *,
    models: A[
        str | None,
        Setting(
            metavar="A,B,C",
            help="draft models that may take part (default: those below the target)",
        ),
    ] = None,
    max_levels: A[
        int | None,
        Setting(
            metavar="K",
            help="most parts of a stack, target and database included",
        ),
    ] = None,
    measure: A[
        int,
        Setting(
            metavar="N",
            help="measure the best N stacks (8 when N is left out)",
            without_value=8,
        ),
    ] = 0,
    suite: A[
        str | None,
        Setting(
            metavar="NAME|PATH",
            help="prompts: a suite's name or a file (default: the family's suite)",
        ),
    ] = None,
    limit: A[
        int,
        Setting(
            metavar="N",
            help="prompts to calibrate on, and to measure on",
        ),
    ] = 24,
    repeats: A[
        int,
        Setting(
            metavar="N",
            help="measured runs of each prompt and stack",
        ),
    ] = 3,
    fresh: A[
        bool,
        Setting(
            help="calibrate again, even if a stored calibration fits",
        ),
    ] = False,
    json_: Json = None,
    decoding: DecodingOptions,
    machine: EngineOptions,
    command_line: CommandLine,
) -> int:
    """Calibrate this machine, rank hierarchies by the latency law, and measure the best."""
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.machine import describe
    from hsd_viz.measure.bench.settings import BenchSettings
    from hsd_viz.measure.plan import plan as planning
    from hsd_viz.measure.plan.result import PlanResult
    from hsd_viz.prompts.suites import load_suite
    from hsd_viz.results.result import show

    drafts = None if models is None else [name.strip() for name in models.split(",")]
    planned = planning.plan(
        LocalEngine.of(machine.on_one_thread()),
        load_suite(suite or find_family(machine.family).suite),
        BenchSettings(
            max_new_tokens=decoding.max_new_tokens,
            sampling=decoding.sampling,
            repeats=repeats,
        ),
        models=drafts,
        max_levels=max_levels,
        measured=measure,
        fresh=fresh,
        limit=limit,
        progress=_show_progress,
    )
    status()
    return show(PlanResult(planned, describe(), command_line), json=json_)


def _show_progress(done: int, total: int, text: str) -> None:
    status(f"{done}/{total}  {text}" if total else text)
