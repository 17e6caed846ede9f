"""``hsd-viz plan``: calibrate this machine, rank hierarchies by the law, measure the best."""

from __future__ import annotations

import argparse
import sys
import time

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz plan
  hsd-viz plan --measure
  hsd-viz plan --measure 4 --stack "nano:4 > small:8 > target" --json plan.json
  hsd-viz plan --models nano --max-levels 2 --temperature 0.7

Calibration decodes with short stacks and measures the cost of each model and how much of each other's drafts they
accept. It is stored for two weeks, for these weights, machine and settings. The latency law then predicts every
hierarchy: ms per emitted token, prefill excluded, and the forward passes per token of each model. --measure runs the
best ones, the best single draft model, the best database and plain decoding on prompts that were not used for
calibration. Ctrl-C ends with a partial result and exit code 130. On a calibrated machine the law also chooses `auto`,
and the lookaheads that a stack leaves out.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "plan",
        help="find the fastest hierarchy on this machine",
        description="Calibrate this machine, rank hierarchies by the latency law, and measure the best.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--models",
        metavar="A,B,C",
        help="draft models that may take part (default: those of the ladder below the target)",
    )
    parser.add_argument(
        "--max-levels", type=int, metavar="K", help="most parts of a stack, target and database included"
    )
    parser.add_argument(
        "--measure",
        type=int,
        nargs="?",
        const=8,
        default=0,
        metavar="N",
        help="measure the best N stacks (8 when N is left out)",
    )
    parser.add_argument(
        "--stack", action="append", default=[], metavar="S", help="predict and measure this stack too; may be repeated"
    )
    parser.add_argument(
        "--suite", default="heldout", metavar="NAME|PATH", help="prompts: a suite's name or a file (default heldout)"
    )
    parser.add_argument(
        "--limit", type=int, default=24, metavar="N", help="prompts to calibrate on, and to measure on (default 24)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="N", help="measured runs of each prompt and stack (default 3)"
    )
    parser.add_argument(
        "--same-prompts",
        action="store_true",
        help="measure on the prompts of the calibration: separates the error of the law from the effect of other texts",
    )
    parser.add_argument("--fresh", action="store_true", help="calibrate again, even if a stored calibration fits")
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="processor: the thread's own CPU time, less affected by background load (one thread; default wall)",
    )
    parser.add_argument("--json", type=arguments.file_name, metavar="OUT", help="write the whole plan")
    arguments.add_sampling(parser)
    arguments.add_machine(parser, threads=1)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plan and return the exit code; ``ValueError`` for bad input."""
    from hsd_viz.bench import Progress, load_suite
    from hsd_viz.bench.plan import PlanRequest, plan, report
    from hsd_viz.bench.plan_text import plan_table

    request = PlanRequest(
        models=None if args.models is None else tuple(name.strip() for name in args.models.split(",")),
        stacks=tuple(args.stack),
        max_levels=args.max_levels,
        measured=args.measure,
        same_prompts=args.same_prompts,
        fresh=args.fresh,
        limit=args.limit,
        repeats=args.repeats,
        max_new_tokens=args.max_new_tokens,
        sampling=arguments.sampling(args),
    )
    suite = load_suite(args.suite)
    if args.json is not None:
        arguments.check_output(args.json)
    engine = arguments.engine(args)
    if args.clock == "processor":
        if str(engine.device) != "cpu" or args.threads != 1:
            raise ValueError(
                "the processor's clock measures one thread of the CPU: use it with --device cpu and --threads 1"
            )
        engine.clock = time.thread_time_ns

    def show(p: Progress) -> None:
        doing = p.note or f"{p.stack}  {p.prompt or 'warming up'}"
        arguments.status(f"{p.done}/{p.total}  {doing}" if p.total else doing)

    def note(message: str) -> None:
        arguments.status()
        print(f"hsd-viz: {message}", file=sys.stderr)

    found = plan(engine, suite, request, progress=show, note=note)
    arguments.status()
    if found is None:
        raise KeyboardInterrupt
    from hsd_viz.machine import describe

    data = report(found, describe())
    if args.json is not None:
        arguments.write_json(args.json, data)
    print(plan_table(found, data))
    if not found.complete:
        where = f"; the partial plan is in {args.json}" if args.json is not None else ""
        print(f"hsd-viz: interrupted{where}", file=sys.stderr)
    return 0 if found.complete else 130
