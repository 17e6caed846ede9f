"""``hsd-viz bench``: measure stacks side by side."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, number, option
from hsd_viz.stack import HFStack, Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.words import MAX_BUDGET, counted

if TYPE_CHECKING:
    from hsd_viz.bench import Measurement, Progress, Report, Settings, Suite
    from hsd_viz.bench.checkpoint import Checkpoint
    from hsd_viz.engine.local import LocalEngine

#: The exit code of --compare if a stack became slower.
SLOWER = 1
_EPILOG = """\
examples:
  hsd-viz bench --stack "db > target" --stack "nano:4 > target" --limit 12 --temperature 0.7
  hsd-viz bench --stack "lookup > target" --stack hf-lookup --stack "hf-assistant[nano]" --json report.json
  hsd-viz bench --stack "db > target" --suite my-prompts.txt --max-new-tokens 64
  hsd-viz bench --stack "db > target" --suite spec-bench --target owner/model --max-new-tokens 1024
  hsd-viz bench --stack "suffix > target" --stack "recycling > target" --state both --budget 16
  hsd-viz bench --stack "db > target" --json report.json --html report.html
  hsd-viz bench --from report.json --html report.html
  hsd-viz bench --compare old.json new.json --tolerance 0.1
  hsd-viz bench --suite '?'

Stacks alternate (A B C A B C ...) in one process, so that background load affects all stacks equally; each figure is
a ratio of sums over prompts with a 95 % bootstrap interval, shown from five prompts. The plain 'target' is added where it is missing.
hf-generate, hf-lookup and hf-assistant[MODEL] are transformers' own loops on the same weights. A suite file holds
prompts separated by three or more blank lines. Small models repeat themselves under greedy decoding, which flatters
drafting: every figure is also given over the prompts whose plain output repeats itself in less than 20 % of its
tokens.

--state is for suffix, recycling and ngram-cache, which learn from decode to decode. cold: each decode starts with an
empty memory. warm: a stack keeps one memory through the suite, so the order of the prompts is part of what is
measured; every repeat of the suite starts with an empty memory, so no prompt is decoded with a memory of its own
output. both: a row for each. auto is the fastest stack by the latency law for this machine, which is measured once.
--budget N lets every database and baseline propose up to N draft tokens at a time, databases regardless of the cost;
those that find fewer propose fewer.
--profile shows where the time of a round goes.

Ctrl-C ends the bench: table and --json report then cover the prompts that every stack had finished, "complete" is
false in the report, and the exit code is 130. With --json OUT the finished decodes are stored in OUT.partial until
the bench is complete: the same command resumes from there, also after a crash; --restart starts again.

--compare divides the new tokens/s of each stack by the old ones, prompt by prompt where both reports hold the times of
their prompts. A stack is slower if the ratio is below 1 - SHARE and its interval below 1. Exit code 1: a stack is.
"""


def add(commands: argparse._SubParsersAction) -> None:
    about = "Measure stacks side by side on a suite of prompts."
    parser = arguments.add_command(commands, "bench", "measure stacks side by side", run, about=about, epilog=_EPILOG)
    text = "a stack to measure (lookahead 1-64); may be given several times"
    option(parser, "--stack S", text, action="append", default=[])
    _add_suite(partial(option, parser))
    _add_measures(partial(option, parser))
    _add_files(partial(option, parser))
    arguments.add_sampling(parser)
    arguments.add_machine(parser, threads=1)


def _add_suite(add: Callable[..., Any]) -> None:
    text = (
        "prompts: heldout (small), python (six kinds of text), spec-bench (downloaded once), a .jsonl file of "
        "questions or a text file; '?' lists them with their categories (default heldout)"
    )
    add("--suite NAME|PATH", text, default="heldout", action=_Suite)
    text = (
        "how the turns of a question become a prompt: the tokenizer's chat template, Vicuna's (Spec-Bench's), or none; "
        "auto: the tokenizer's if it has one, Vicuna's for a Vicuna, else none (default auto)"
    )
    add("--template", text, choices=("auto", "chat", "vicuna", "plain"), default="auto")
    add("--limit N", "use N prompts, from all categories in turn", int)


def _add_measures(add: Callable[..., Any]) -> None:
    text = "start drafters that learn from decode to decode with an empty memory, keep it, or both (default cold)"
    add("--state", text, choices=("cold", "warm", "both"), default="cold")
    text = f"the most draft tokens of a database or baseline at a time, 1-{MAX_BUDGET}, regardless of their cost"
    add("--budget N", text, int)
    add("--repeats N", "runs of each prompt and stack; times are medians (default 3)", int, default=3)
    add("--profile", "show where the time of a round goes (our own loop)", action="store_true")


def _add_files(add: Callable[..., Any]) -> None:
    add("--json OUT", "write the whole report", file_name)
    add("--html OUT", "write the report as a page that opens offline", file_name)
    add("--restart", "delete what an unfinished bench has stored beside the --json report", action="store_true")
    add("--from REPORT.json", "show a saved --json report instead of measuring", file_name, dest="report")
    text = "compare two saved reports instead of measuring; the exit code is 1 if a stack became slower"
    add("--compare", text, file_name, nargs=2, metavar=("OLD.json", "NEW.json"))
    text = "the share by which --compare lets a stack become slower, 0-1 (default 0.05)"
    add("--tolerance SHARE", text, number(0.0, 1.0, float))


def run(args: argparse.Namespace) -> int:
    """Measure and return the exit code. Raises: ValueError: if an option, a stack or a prompt is not valid."""
    arguments.check_outputs(args.json, args.html)
    if args.tolerance is not None and args.compare is None:
        raise ValueError("--tolerance belongs to --compare OLD.json NEW.json")
    if args.compare is not None:
        return _compare(args)
    if args.report is not None:
        with arguments.reading(args.report):
            _show(_read(args.report), None, args.html)
        return 0
    measurement, report, checkpoint = _measure(args)
    _show(report, args.json, args.html)
    if measurement.complete:
        checkpoint.remove()
        return 0
    where = f"; the partial report is in {args.json}, and the same command resumes from there" if args.json else ""
    arguments.say(f"interrupted{where}")
    return 130


def _compare(args: argparse.Namespace) -> int:
    """Compare two saved reports; return 1 if a stack became slower by more than the tolerance."""
    from hsd_viz import terminal
    from hsd_viz.bench import compare
    from hsd_viz.serialize import to_dict

    for name, given in (("--stack", args.stack), ("--from", args.report), ("--html", args.html)):
        if given:
            raise ValueError(f"--compare reads two reports: {name} cannot be combined with it")
    old, new = map(_read, args.compare)
    found = compare.compare(old, new, compare.TOLERANCE if args.tolerance is None else args.tolerance)
    if args.json is not None:
        arguments.write_json(args.json, to_dict(found))
    terminal.show(compare.text_parts(found))
    return SLOWER if found.slower else 0


def _measure(args: argparse.Namespace) -> tuple[Measurement, Report, Checkpoint]:
    from hsd_viz.bench import Settings, build_report, load_suite, read_stacks, run_bench
    from hsd_viz.machine import describe

    if not args.stack:
        raise ValueError("give the stacks to measure with --stack, or a saved report with --from")
    read_stacks(args.stack)
    sampling = arguments.sampling(args)
    settings = Settings(args.max_new_tokens, sampling, args.repeats, args.profile, args.state, args.budget)
    suite = load_suite(args.suite).limited(args.limit)
    engine = arguments.engine(args)
    checkpoint = _checkpoint(args, engine, suite, settings)
    earlier = len(checkpoint)
    with progress_bar() as bar:

        def show(p: Progress) -> None:
            doing = (p.stack, p.prompt, p.note) if p.note else (p.stack, p.prompt or "warming up")
            bar(p.done, p.total, "  ".join(filter(None, doing)))

        shared = {"template": args.template, "checkpoint": checkpoint, "progress": show}
        found = run_bench(engine, args.stack, suite, settings, **shared)
    machine = describe()
    facts = {
        "target": engine.target,
        "databases": None if args.databases is None else str(args.databases),
        "device": engine.device,
        "dtype": engine.dtype,
        "threads": machine["threads"],
        "decodes_from_earlier_runs": earlier,
    }
    command = shlex.join(["hsd-viz", *args.words])
    return found, build_report(found, machine, facts, command), checkpoint


def _show(report: Report, json: Path | None, html: Path | None) -> None:
    """Write the report to the given files and print it."""
    from hsd_viz import terminal
    from hsd_viz.bench.page import page
    from hsd_viz.bench.tables import text_parts

    if json is not None:
        arguments.write_json(json, report.to_dict())
    if html is not None:
        arguments.write_text(html, page(report))
    terminal.show(text_parts(report))


def _read(path: Path) -> Report:
    """Read a saved report. Raises: ValueError: if the file does not hold one."""
    from hsd_viz.bench.report import read_report
    from hsd_viz.prompts.suites import read_text

    return read_report(read_text(path, "report"), str(path))


def _checkpoint(args: argparse.Namespace, engine: LocalEngine, suite: Suite, settings: Settings) -> Checkpoint:
    """Return the decodes that an earlier run of the same bench has stored beside the report, and print their number."""
    from hsd_viz.bench import read_stacks
    from hsd_viz.bench.checkpoint import Checkpoint, fingerprint
    from hsd_viz.disk import regular_target
    from hsd_viz.ladder.load import weights_dir
    from hsd_viz.machine import describe

    if args.json is None or regular_target(args.json) is None:
        return Checkpoint()
    path, machine = args.json.with_name(f"{args.json.name}.partial"), describe()
    if args.restart:
        path.unlink(missing_ok=True)
    stacks = read_stacks(args.stack)
    models = {name for stack in stacks.values() for name in _models(stack)} | {"target"}
    databases = sorted(Path(args.databases or weights_dir() / "databases").glob("*"))
    about = {
        "stacks": list(stacks),
        "suite": fingerprint(suite),
        "settings": dataclasses.asdict(settings),
        "template": args.template,
        "runtime": args.runtime,
        "target": engine.target,
        "bridge": args.bridge,
        "weights": {name: engine.models.hash(engine.target if name == "target" else name) for name in sorted(models)},
        "databases": {file.name: [(found := file.stat()).st_size, found.st_mtime_ns] for file in databases},
        "device": [engine.device, engine.dtype],
        "machine": {name: value for name, value in machine.items() if name != "load_average"},
    }
    found = Checkpoint(path, about)
    if len(found):
        decodes = counted(len(found), "finished decode")
        arguments.say(f"resuming after {decodes}, stored in {path}")
    return found


def _models(stack: Stack | HFStack) -> tuple[str, ...]:
    """Return the names of the models that ``stack`` loads besides the target."""
    if isinstance(stack, HFStack):
        return (stack.assistant,) if stack.assistant else ()
    if stack.bottom is None or stack.bottom.name != "auto":
        return tuple(m.name for m in stack.drafts)
    from hsd_viz.ladder.load import names

    return tuple(item for item in stack.bottom.items if item != "db") or names()


class _Suite(argparse.Action):
    """The name of a suite; ``?`` lists the suites and ends the program, as ``--help`` does."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        if values == "?":
            from hsd_viz.prompts.suites import describe_suites

            print(describe_suites())
            parser.exit()
        setattr(namespace, self.dest, values)
