"""``hsd-viz bench``: measure stacks side by side."""

from __future__ import annotations

import argparse
import sys

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz bench --stack "db > target" --stack "nano:4 > target" --limit 12
  hsd-viz bench --stack "lookup > target" --stack hf-lookup --stack "hf-assistant[nano]" --json report.json
  hsd-viz bench --stack "db > target" --suite my-prompts.txt --max-new-tokens 64

Stacks take turns (A B C A B C ...) in one process, so that what disturbs one disturbs all; each figure is a ratio of sums over
prompts with a 95 % bootstrap interval. The plain 'target' is added where it is missing. hf-generate, hf-lookup and
hf-assistant[MODEL] are transformers' own loops on the same weights. A suite file holds prompts separated by three or more blank
lines. Small models repeat themselves under greedy decoding, which flatters drafting: every figure is also given over the
prompts whose plain output repeats itself in less than 20 % of its tokens. Ctrl-C ends the bench: table and --json report then
cover the prompts that every stack had finished, "complete" is false in the report, and the exit code is 130.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bench", help="measure stacks side by side", description="Measure stacks side by side on a suite of prompts.", epilog=_EPILOG
    )
    parser.add_argument(
        "--stack", action="append", required=True, metavar="S", help="a stack to measure (lookahead 1-64); give it several times"
    )
    parser.add_argument("--suite", default="heldout", metavar="NAME|PATH", help="prompts: a shipped suite or a text file (default heldout)")
    parser.add_argument("--limit", type=int, metavar="N", help="use N prompts, from all categories in turn")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each prompt and stack; times are medians (default 3)")
    parser.add_argument("--json", type=arguments.file_name, metavar="OUT", help="write the whole report")
    arguments.add_sampling(parser)
    arguments.add_machine(parser, threads=1)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure; returns the exit code. Raises ``ValueError`` with one sentence for bad input."""
    from hsd_viz.bench import Progress, Settings, build_report, load_suite, read_stacks, run_bench, text_table

    read_stacks(args.stack)
    settings = Settings(args.max_new_tokens, arguments.sampling(args), args.repeats)
    suite = load_suite(args.suite).limited(args.limit)
    if args.json is not None:
        arguments.check_output(args.json)
    engine = arguments.engine(args)

    def show(p: Progress) -> None:
        arguments.status(f"{p.done}/{p.total}  {p.stack}  {p.prompt or 'warming up'}")

    measurement = run_bench(engine, args.stack, suite, settings, progress=show)
    arguments.status()
    from hsd_viz.bench.machine import describe

    machine = describe()
    report = build_report(
        measurement, machine, {"target": args.target, "device": engine.device, "dtype": engine.dtype, "threads": machine["threads"]}
    )
    if args.json is not None:
        arguments.write_json(args.json, report)
    print(text_table(report))
    if not measurement.complete:
        where = f"; the partial report is in {args.json}" if args.json is not None else ""
        print(f"hsd-viz: interrupted{where}", file=sys.stderr)
    return 0 if measurement.complete else 130
