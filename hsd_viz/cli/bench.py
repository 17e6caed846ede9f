"""``hsd-viz bench`` and ``plan``: measure stacks side by side; rank hierarchies by the law and measure the best."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from typing import Annotated as A

from hsd_viz import terminal
from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Html, Json, OneThread, SamplingOptions
from hsd_viz.cli.options import Bare, CommandLine, Range
from hsd_viz.terminal import Progress, progress_bar
from hsd_viz.words import counted

if TYPE_CHECKING:
    from hsd_viz.bench import Report


def bench(
    *,
    stack: A[tuple[str, ...], "S", "a stack to measure (lookahead 1-64); may be given several times"] = (),
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
    restart: A[bool, "delete what an unfinished bench has stored beside the --json report"] = False,
    from_: A[Path | None, "REPORT.json", "show a saved --json report instead of measuring"] = None,
    compare: A[tuple[Path, Path] | None, "OLD.json NEW.json", "compare two saved reports instead of measuring"] = None,
    tolerance: A[float | None, Range(0, 1), "SHARE", "how much slower a stack may be (--compare; default 0.05)"] = None,
    sampling: SamplingOptions,
    machine: OneThread,
    command_line: CommandLine,
) -> int:
    """Measure stacks side by side on a suite of prompts."""
    if suite == "?":
        from hsd_viz.prompts.suites import describe_suites

        print(describe_suites())
        return 0
    arguments.check_outputs(json_, html)
    if tolerance is not None and compare is None:
        raise ValueError("--tolerance belongs to --compare OLD.json NEW.json")
    if compare is not None:
        for name, given in (("--stack", stack), ("--from", from_), ("--html", html)):
            if given:
                raise ValueError(f"--compare reads two reports: {name} cannot be combined with it")
        return _compare(*compare, tolerance, json_)
    if from_ is not None:
        with arguments.reading(from_):
            _show(_read(from_), None, html)
        return 0
    from hsd_viz.bench import Settings, build_report, load_suite, read_stacks, run_bench
    from hsd_viz.bench.runner import checkpoint_beside, fingerprint
    from hsd_viz.machine import describe

    if not stack:
        raise ValueError("give the stacks to measure with --stack, or a saved report with --from")
    rows = list(read_stacks(stack))
    settings = Settings(sampling.max_new_tokens, sampling.sampling(), repeats, profile, state, budget)
    prompts = load_suite(suite).limited(limit)
    engine = machine.engine()
    work = {"stacks": rows, "suite": fingerprint(prompts), "settings": asdict(settings), "template": template}
    work |= {"runtime": machine.runtime, "bridge": machine.bridge}
    checkpoint = checkpoint_beside(json_, engine, work, restart)
    if earlier := len(checkpoint):
        arguments.say(f"resuming after {counted(earlier, 'finished decode')}, stored in {checkpoint.journal.path}")
    with progress_bar() as bar:
        show = lambda p: bar(p.done, p.total, "  ".join(filter(None, (p.stack, p.prompt or p.note or "warming up"))))
        options: dict[str, Any] = {"template": template, "checkpoint": checkpoint, "progress": show}
        measurement = run_bench(engine, stack, prompts, settings, **options)
    computer, facts = describe(), {name: getattr(engine, name) for name in ("target", "databases", "device", "dtype")}
    facts |= {"threads": computer["threads"], "decodes_from_earlier_runs": earlier}
    _show(build_report(measurement, computer, facts, command_line), json_, html)
    if measurement.complete:
        checkpoint.journal.remove()
    return _ended(measurement.complete, "report", json_, ", and the same command resumes from there")


def _compare(old: Path, new: Path, tolerance: float | None, json: Path | None) -> int:
    """Compare two saved reports; return 1 if a stack became slower by more than the tolerance."""
    from hsd_viz.bench import compare
    from hsd_viz.serialize import to_dict

    comparison = compare.compare(_read(old), _read(new), compare.TOLERANCE if tolerance is None else tolerance)
    arguments.write_json(json, to_dict(comparison))
    terminal.show(compare.text_parts(comparison))
    return 1 if comparison.slower else 0


def _show(report: Report, json: Path | None, html: Path | None) -> None:
    """Write the report to the given files and print it."""
    from hsd_viz.bench.page import page, text_parts

    arguments.write_json(json, report.to_dict())
    if html is not None:
        arguments.write_text(html, page(report))
    terminal.show(text_parts(report))


def _read(path: Path) -> Report:
    """Read a saved report. Raises: ValueError: if the file does not hold one."""
    from hsd_viz.bench.report import read_report
    from hsd_viz.disk import MOST_JSON, read_text

    return read_report(read_text(path, "report", MOST_JSON), str(path))


def plan(
    *,
    models: A[str | None, "A,B,C", "draft models that may take part (default: those below the target)"] = None,
    max_levels: A[int | None, "K", "most parts of a stack, target and database included"] = None,
    measure: A[int, Bare(8), "N", "measure the best N stacks (8 when N is left out)"] = 0,
    stack: A[tuple[str, ...], "S", "predict and measure this stack too; may be repeated"] = (),
    suite: A[str, "NAME|PATH", "prompts: a suite's name or a file"] = "heldout",
    limit: A[int, "N", "prompts to calibrate on, and to measure on"] = 24,
    repeats: A[int, "N", "measured runs of each prompt and stack"] = 3,
    same_prompts: A[bool, "measure on the prompts of the calibration"] = False,
    fresh: A[bool, "calibrate again, even if a stored calibration fits"] = False,
    json_: A[Path | None, "OUT", "write the whole plan"] = None,
    html: A[Path | None, "OUT", "write the plan as a page"] = None,
    sampling: SamplingOptions,
    machine: OneThread,
    command_line: CommandLine,
) -> int:
    """Calibrate this machine, rank hierarchies by the latency law, and measure the best."""
    from hsd_viz.bench import load_suite
    from hsd_viz.bench import plan as planning
    from hsd_viz.machine import describe

    request = planning.PlanRequest(
        models=None if models is None else tuple(name.strip() for name in models.split(",")),
        stacks=stack,
        max_levels=max_levels,
        measured=measure,
        same_prompts=same_prompts,
        fresh=fresh,
        limit=limit,
        repeats=repeats,
        max_new_tokens=sampling.max_new_tokens,
        sampling=sampling.sampling(),
    )
    prompts = load_suite(suite)
    arguments.check_outputs(json_, html)
    engine = machine.engine()

    def show(p: Progress) -> None:
        doing = p.note or f"{p.stack}  {p.prompt or 'warming up'}"
        arguments.status(f"{p.done}/{p.total}  {doing}" if p.total else doing)

    result = planning.plan(engine, prompts, request, progress=show, note=arguments.say)
    arguments.status()
    if result is None:
        raise KeyboardInterrupt
    data = planning.report(result, describe()) | {"command": command_line}
    arguments.write_json(json_, data)
    if html is not None:
        arguments.write_text(html, planning.plan_page(result, data))
    print(planning.plan_table(result, data))
    return _ended(result.complete, "plan", json_)


def _ended(complete: bool, what: str, json: Path | None, resumes: str = "") -> int:
    if not complete:
        arguments.say(f"interrupted; the partial {what} is in {json}{resumes}" if json else "interrupted")
    return 0 if complete else 130
