"""``hsd-viz bench``: measure stacks side by side."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.checks import MAX_BUDGET
from hsd_viz.cli import arguments
from hsd_viz.stack import HFStack, Stack

if TYPE_CHECKING:
    from hsd_viz.bench import Measurement, Settings, Suite
    from hsd_viz.bench.checkpoint import Checkpoint

_EPILOG = """\
examples:
  hsd-viz bench --stack "db > target" --stack "nano:4 > target" --limit 12
  hsd-viz bench --stack "lookup > target" --stack hf-lookup --stack "hf-assistant[nano]" --json report.json
  hsd-viz bench --stack "db > target" --suite my-prompts.txt --max-new-tokens 64
  hsd-viz bench --stack "db > target" --suite spec-bench --target owner/model --max-new-tokens 1024 --answers db.jsonl
  hsd-viz bench --stack "suffix > target" --stack "recycling > target" --state both --budget 16
  hsd-viz bench --stack "db > target" --json report.json --html report.html
  hsd-viz bench --from report.json --html report.html
  hsd-viz bench --suite '?'

Stacks take turns (A B C A B C ...) in one process, so that what disturbs one disturbs all; each figure is a ratio of sums over
prompts with a 95 % bootstrap interval. The plain 'target' is added where it is missing. hf-generate, hf-lookup and
hf-assistant[MODEL] are transformers' own loops on the same weights. A suite file holds prompts separated by three or more blank
lines. Small models repeat themselves under greedy decoding, which flatters drafting: every figure is also given over the
prompts whose plain output repeats itself in less than 20 % of its tokens.

--state is about suffix, recycling and ngram-cache, which learn from decode to decode. cold: each decode begins with an empty memory.
warm: a stack keeps one memory through the suite, so the order of the prompts is part of what is measured; every repeat goes through
the suite with a memory that is empty at first, so no prompt meets what was written for it before. both: a row for each.
auto is the fastest stack by the latency law for this machine, which is measured once. --budget N lets every database and rival put up to N draft tokens
at a time, and the databases put them up whatever they cost; those that find fewer, or never draft as many, draft fewer.
--rival-settings best tries settings of transformers' loops (draft tokens, schedule, confidence threshold, n-gram length) on prompts
that are not measured and gives the best ones a row beside the defaults; hf-generate has none to try (a static cache pays only with
torch.compile, which takes minutes for each shape). --profile decodes each prompt once more and says where the time of a round
goes.

Ctrl-C ends the bench: table and --json report then cover the prompts that every stack had finished, "complete" is false in the
report, and the exit code is 130. With --json OUT the finished decodes are kept in OUT.partial until the bench is complete: the same
command goes on from there, also after a crash; --restart begins anew.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bench",
        help="measure stacks side by side",
        description="Measure stacks side by side on a suite of prompts.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--stack",
        action="append",
        default=[],
        metavar="S",
        help="a stack to measure (lookahead 1-64); give it several times",
    )
    parser.add_argument(
        "--suite",
        default="heldout",
        action=_Suite,
        metavar="NAME|PATH",
        help="prompts: heldout (the small one), python (six kinds of text), spec-bench (fetched once), a .jsonl file of questions or "
        "a text file; '?' lists them with their categories (default heldout)",
    )
    parser.add_argument(
        "--template",
        choices=("auto", "chat", "vicuna", "plain"),
        default="auto",
        help="how the turns of a question become a prompt: the tokenizer's own chat template, Vicuna's (Spec-Bench's), or none; auto: its "
        "own where there is one, Vicuna's for a Vicuna, else none (default auto)",
    )
    parser.add_argument(
        "--answers",
        type=arguments.file_name,
        metavar="FILE.jsonl",
        help="write the answers to questions in Spec-Bench's form: those of the first stack that is not plain target to this file, each "
        "other stack's beside it under its name",
    )
    parser.add_argument(
        "--state",
        choices=("cold", "warm", "both"),
        default="cold",
        help="whether drafters that learn from decode to decode begin each one with an empty memory, keep it, or both (default cold)",
    )
    parser.add_argument(
        "--budget",
        type=int,
        metavar="N",
        help=f"the most draft tokens of a database or rival at a time, 1-{MAX_BUDGET}, whatever they cost",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="use N prompts, from all categories in turn")
    parser.add_argument(
        "--repeats",
        type=int,
        default=3,
        metavar="N",
        help="runs of each prompt and stack; times are medians (default 3)",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="one more decode of each prompt tells where the time of a round goes (our own loop)",
    )
    parser.add_argument(
        "--rival-settings",
        choices=("default", "best"),
        default="default",
        help="best: try the settings of transformers' loops on prompts that are not measured and measure the best ones too",
    )
    parser.add_argument(
        "--memory", action="store_true", help="measure the memory of each stack, each in a process of its own"
    )
    parser.add_argument("--json", type=arguments.file_name, metavar="OUT", help="write the whole report")
    parser.add_argument(
        "--html",
        type=arguments.file_name,
        metavar="OUT",
        help="write the report as a page that opens without a network",
    )
    parser.add_argument(
        "--restart", action="store_true", help="forget what an unfinished bench has kept beside the --json report"
    )
    parser.add_argument(
        "--from",
        dest="report",
        type=arguments.file_name,
        metavar="REPORT.json",
        help="measure nothing, show a saved --json report",
    )
    arguments.add_sampling(parser)
    arguments.add_machine(parser, threads=1)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure; returns the exit code. Raises ``ValueError`` with one sentence for bad input."""
    from hsd_viz.bench import Progress, Settings, build_report, load_suite, read_stacks, run_bench
    from hsd_viz.bench.transformers_settings import spare_prompts
    from hsd_viz.prompts.templates import choose_template, opening

    outputs = [path for path in (args.json, args.html, args.answers) if path is not None]
    for path in outputs:
        arguments.check_output(path)
    if args.report is not None:
        _show(_read(args.report), None, args.html)
        return 0
    if not args.stack:
        raise ValueError("give the stacks to measure with --stack, or a saved report with --from")
    read_stacks(args.stack)
    best = args.rival_settings == "best"
    settings = Settings(
        args.max_new_tokens, arguments.sampling(args), args.repeats, args.profile, best, args.state, args.budget
    )
    whole = load_suite(args.suite)
    suite = whole.limited(args.limit)
    spare = spare_prompts(suite, whole) if best else ()
    if args.answers is not None and not any(p.turns for p in suite.prompts):
        raise ValueError("--answers needs a suite of questions: spec-bench or a .jsonl file")
    engine = arguments.engine(args)
    checkpoint = _checkpoint(args, engine, suite, settings)
    earlier = len(checkpoint)

    def show(p: Progress) -> None:
        doing = (
            "  ".join(filter(None, (p.stack, p.prompt, p.note))) if p.note else f"{p.stack}  {p.prompt or 'warming up'}"
        )
        arguments.status(f"{p.done}/{p.total}  {doing}")

    measurement = run_bench(
        engine, args.stack, suite, settings, spare=spare, template=args.template, checkpoint=checkpoint, progress=show
    )
    memory = None
    if args.memory and measurement.complete and measurement.prompts:
        template = (
            choose_template(engine.tokenizer, args.target, measurement.template) if measurement.template else None
        )
        memory = _memory(args, opening(measurement.prompts[0], template), settings)
    arguments.status()
    from hsd_viz.machine import describe

    machine = describe()
    report = build_report(
        measurement,
        machine,
        {
            "target": engine.models.target,
            "padding": engine.models.padding_note,
            "databases": None if args.databases is None else str(args.databases),
            "device": engine.device,
            "dtype": engine.dtype,
            "threads": machine["threads"],
            "decodes_from_earlier_runs": earlier,
        },
        memory,
        shlex.join(["hsd-viz", *args.words]),
    )
    _show(report, args.json, args.html)
    if args.answers is not None:
        _write_answers(args.answers, measurement, engine.models.target, engine.dtype)
    if measurement.complete:
        checkpoint.remove()
        return 0
    where = (
        f"; the partial report is in {args.json}, and the same command goes on from there"
        if args.json is not None
        else ""
    )
    print(f"hsd-viz: interrupted{where}", file=sys.stderr)
    return 130


def _show(report: dict[str, Any], json: Path | None, html: Path | None) -> None:
    """Write the report to the files that were asked for and print it."""
    from hsd_viz.bench import text_table
    from hsd_viz.bench.page import page

    if json is not None:
        arguments.write_json(json, report)
    if html is not None:
        arguments.write_text(html, page(report))
    print(text_table(report))


def _read(path: Path) -> dict[str, Any]:
    """A saved report. Raises ``ValueError`` for anything else."""
    from hsd_viz.bench.report import read_report
    from hsd_viz.prompts.suites import read_text

    return read_report(read_text(path, "report"), str(path))


def _checkpoint(args: argparse.Namespace, engine: Any, suite: Suite, settings: Settings) -> Checkpoint:
    """What an earlier run of the same bench has kept beside the report; says so where there is something."""
    from hsd_viz.bench import read_stacks
    from hsd_viz.bench.checkpoint import Checkpoint, beside, fingerprint
    from hsd_viz.ladder.load import weights_dir
    from hsd_viz.machine import describe

    if args.json is None:
        return Checkpoint()
    path, machine = beside(args.json), describe()
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
        "target": [engine.models.target, engine.models.padding_note],
        "weights": {
            name: engine.models.hash(engine.models.target if name == "target" else name) for name in sorted(models)
        },
        "databases": {file.name: [(found := file.stat()).st_size, found.st_mtime_ns] for file in databases},
        "device": [engine.device, engine.dtype],
        "machine": {name: value for name, value in machine.items() if name != "load_average"},
    }
    kept = Checkpoint.resume(path, about)
    if len(kept):
        print(
            f"hsd-viz: going on after {len(kept)} finished decode{'s' if len(kept) > 1 else ''}, kept in {path}",
            file=sys.stderr,
        )
    return kept


def _models(stack: Stack | HFStack) -> tuple[str, ...]:
    """The models that ``stack`` loads beside the target, by name."""
    if isinstance(stack, HFStack):
        return (stack.assistant,) if stack.assistant else ()
    if stack.bottom is None or stack.bottom.name != "auto":
        return tuple(m.name for m in stack.drafts)
    from hsd_viz.ladder.load import names

    return tuple(item for item in stack.bottom.items if item != "db") or names()


class _Suite(argparse.Action):
    """The name of a suite; ``?`` lists those there are and ends the program, as ``--help`` does."""

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        if values == "?":
            from hsd_viz.prompts.suites import describe_suites

            print(describe_suites())
            parser.exit()
        setattr(namespace, self.dest, values)


def _write_answers(answers: Path, measurement: Measurement, target: str, dtype: str) -> None:
    from hsd_viz.bench.answers import answer_lines, answer_paths
    from hsd_viz.bench.runner import PLAIN

    names = sorted(measurement.outputs, key=lambda name: name == PLAIN)
    print()
    for name, path in answer_paths(answers, names).items():
        turns = [output.turns for output in measurement.outputs[name]]
        arguments.write_text(path, "".join(answer_lines(measurement.prompts, turns, f"{target}: {name} ({dtype})")))
        print(f"answers of {name}: {path}")


def _memory(args: argparse.Namespace, prompt: str | list[int], settings: Settings) -> dict[str, dict[str, int | None]]:
    """What one decode of each stack needs, on the first prompt."""
    from hsd_viz.bench import read_stacks
    from hsd_viz.cli.memory import measure

    found = {}
    for stack in read_stacks(args.stack):
        arguments.status(f"memory of {stack}")
        found[stack] = measure(
            stack, prompt, settings.max_new_tokens, settings.sampling, arguments.engine_options(args)
        )
    return found
