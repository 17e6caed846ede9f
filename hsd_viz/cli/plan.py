"""``hsd-viz plan``: calibrate this machine, rank hierarchies by the law, measure the best."""

from __future__ import annotations

import argparse
import shlex
import time
from functools import partial

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, option

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
    about = "Calibrate this machine, rank hierarchies by the latency law, and measure the best."
    text = "find the fastest hierarchy on this machine"
    parser = arguments.add_command(commands, "plan", text, run, about=about, epilog=_EPILOG)
    add = partial(option, parser)
    add("--models A,B,C", "draft models that may take part (default: those of the ladder below the target)")
    add("--max-levels K", "most parts of a stack, target and database included", int)
    add("--measure N", "measure the best N stacks (8 when N is left out)", int, nargs="?", const=8, default=0)
    add("--stack S", "predict and measure this stack too; may be repeated", action="append", default=[])
    add("--suite NAME|PATH", "prompts: a suite's name or a file (default heldout)", default="heldout")
    add("--limit N", "prompts to calibrate on, and to measure on (default 24)", int, default=24)
    add("--repeats N", "measured runs of each prompt and stack (default 3)", int, default=3)
    text = "measure on the prompts of the calibration: separates the error of the law from the effect of other texts"
    add("--same-prompts", text, action="store_true")
    add("--fresh", "calibrate again, even if a stored calibration fits", action="store_true")
    text = "processor: the thread's own CPU time, less affected by background load (one thread; default wall)"
    add("--clock", text, choices=("wall", "processor"), default="wall")
    add("--json OUT", "write the whole plan", file_name)
    arguments.add_sampling(parser)
    arguments.add_machine(parser, threads=1)


def run(args: argparse.Namespace) -> int:
    """Plan and return the exit code; ``ValueError`` for bad input."""
    from hsd_viz.bench import Progress, load_suite
    from hsd_viz.bench.plan import PlanRequest, plan
    from hsd_viz.bench.plan_report import plan_table, report

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
    arguments.check_outputs(args.json)
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

    found = plan(engine, suite, request, progress=show, note=arguments.say)
    arguments.status()
    if found is None:
        raise KeyboardInterrupt
    from hsd_viz.machine import describe

    data = report(found, describe()) | {"command": shlex.join(["hsd-viz", *args.words])}
    if args.json is not None:
        arguments.write_json(args.json, data)
    print(plan_table(found, data))
    if not found.complete:
        where = f"; the partial plan is in {args.json}" if args.json is not None else ""
        arguments.say(f"interrupted{where}")
    return 0 if found.complete else 130
