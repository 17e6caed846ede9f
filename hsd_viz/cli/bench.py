"""``hsd-viz bench`` and ``plan``: measure stacks side by side; rank hierarchies by the law and measure the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from typing import Annotated as A

from hsd_viz import terminal
from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Html, Json, OneThread, SamplingOptions, Stacks
from hsd_viz.cli.options import CommandLine

if TYPE_CHECKING:
    from hsd_viz.bench import Report
    from hsd_viz.terminal import Progress


def bench(
    *,
    stack: Stacks = (),
    suite: A[
        str, "NAME|PATH", "prompts: a suite, a .jsonl file of questions or a text file; '?' lists the suites"
    ] = "heldout",
    template: A[Literal["auto", "chat", "vicuna", "plain"], "how questions become prompts"] = "auto",
    limit: A[int | None, "N", "use N prompts, from all categories in turn"] = None,
    state: A[
        Literal["cold", "warm", "both"], "start drafters that learn with an empty memory, keep it, or both"
    ] = "cold",
    budget: A[int | None, "N", "the most draft tokens of a drafter at a time, 1-256, regardless of their cost"] = None,
    repeats: A[int, "N", "runs of each prompt and stack; times are medians"] = 3,
    profile: A[bool, "show where the time of a round goes (our own loop)"] = False,
    json_: Json = None,
    html: Html = None,
    from_: A[Path | None, "REPORT.json", "show a saved --json report instead of measuring"] = None,
    sampling: SamplingOptions,
    machine: OneThread,
    command_line: CommandLine,
) -> int:
    """Measure stacks side by side on a suite of prompts."""
    if suite == "?":
        from hsd_viz.prompts.suites import describe_suites

        print(describe_suites())
        return 0
    if from_ is not None:
        from hsd_viz.bench import read_report
        from hsd_viz.disk import MOST_JSON, read_text

        with arguments.reading(from_):
            return _show(read_report(read_text(from_, "report", MOST_JSON), str(from_)), None, html)
    from hsd_viz.bench import Settings, build_report, load_suite, run_bench
    from hsd_viz.machine import describe

    if not stack:
        raise ValueError("give the stacks to measure with --stack, or a saved report with --from")
    settings = Settings(sampling.max_new_tokens, sampling.sampling(), repeats, profile, state, budget)
    prompts = load_suite(suite).limited(limit)
    engine = machine.engine()
    with terminal.progress_bar() as bar:
        show = lambda p: bar(p.done, p.total, _doing(p))
        measurement = run_bench(engine, stack, prompts, settings, template=template, progress=show)
    computer, facts = describe(), {name: getattr(engine, name) for name in ("target", "databases", "device", "dtype")}
    facts["threads"] = computer["threads"]
    return _show(build_report(measurement, computer, facts, command_line), json_, html)


def _show(report: Report, json: Path | None, html: Path | None) -> int:
    """Write the report to the given files, print it, and return the exit code."""
    from hsd_viz.bench.page import page, text_parts

    arguments.write_json(json, report.to_dict())
    arguments.write_text(html, page(report) if html else "")
    terminal.show(text_parts(report))
    return 0 if report.complete else _interrupted("report", json)


def plan(
    *,
    models: A[str | None, "A,B,C", "draft models that may take part (default: those below the target)"] = None,
    max_levels: A[int | None, "K", "most parts of a stack, target and database included"] = None,
    measure: A[int, 8, "N", "measure the best N stacks (8 when N is left out)"] = 0,
    suite: A[str, "NAME|PATH", "prompts: a suite's name or a file"] = "heldout",
    limit: A[int, "N", "prompts to calibrate on, and to measure on"] = 24,
    repeats: A[int, "N", "measured runs of each prompt and stack"] = 3,
    fresh: A[bool, "calibrate again, even if a stored calibration fits"] = False,
    json_: Json = None,
    html: Html = None,
    sampling: SamplingOptions,
    machine: OneThread,
    command_line: CommandLine,
) -> int:
    """Calibrate this machine, rank hierarchies by the latency law, and measure the best."""
    from hsd_viz.bench import Settings, load_suite
    from hsd_viz.bench import plan as planning
    from hsd_viz.machine import describe

    settings = Settings(sampling.max_new_tokens, sampling.sampling(), repeats)
    prompts = load_suite(suite)
    options: dict[str, Any] = {"max_levels": max_levels, "measured": measure, "fresh": fresh, "limit": limit}
    options["models"] = None if models is None else [name.strip() for name in models.split(",")]
    options["progress"] = lambda p: arguments.status(f"{p.done}/{p.total}  {_doing(p)}" if p.total else _doing(p))
    plan = planning.plan(machine.engine(), prompts, settings, note=arguments.say, **options)
    arguments.status()
    if plan is None:
        raise KeyboardInterrupt
    data = {"machine": describe(), **plan, "command": command_line}
    arguments.write_json(json_, data)
    arguments.write_text(html, planning.page(data) if html else "")
    terminal.show(planning.text_parts(data))
    return 0 if data["complete"] else _interrupted("plan", json_)


def _doing(p: Progress) -> str:
    return p.note or f"{p.stack}  {p.prompt or 'warming up'}"


def _interrupted(what: str, json: Path | None) -> int:
    arguments.say(f"interrupted; the partial {what} is in {json}" if json else "interrupted")
    return 130
