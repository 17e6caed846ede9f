"""``hsd-viz doctor``: why speculative decoding is not faster, and what to set."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.cli import arguments
from hsd_viz.terminal import show

if TYPE_CHECKING:
    from hsd_viz.logs.observe import Observation

_EPILOG = """\
examples:
  hsd-viz doctor run.json.gz
  hsd-viz doctor report.json --stack "nano:4 > target" --batch 8
  hsd-viz doctor responses.jsonl --step-ms 12 --verify-ms 14 --draft-ms 6
  hsd-viz doctor --measure "nano:4 > target"

Read are: a trace (decode --save), a report (bench --profile --json) and records of other engines (see `hsd-viz import`).
The latter report acceptance but rarely times: give what you know with --step-ms, --verify-ms, --draft-ms and --overhead-ms,
all at batch size 1. The verdict names the cause with the largest share of what is lost of the ideal speed-up.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "explain why speculative decoding is not faster, and what to set"
    parser = arguments.add_command(commands, "doctor", text, run, epilog=_EPILOG)
    add = parser.add_argument
    add("record", nargs="?", type=Path, metavar="FILE", help="a trace, a bench report or a record of another engine")
    add("--measure", metavar="STACK", help="measure a few short decodes with this stack instead")
    add("--target", default="target", metavar="M", help="the target of --measure (default target)")
    add("--stack", metavar="S", help="the row of a bench report (default: the first with a drafter)")
    add("--batch", type=arguments.number(1, 4096), default=1, metavar="N", help="requests per batch (default 1)")
    ms = arguments.number(0.0, 1e6, float)
    add("--step-ms", type=ms, metavar="MS", help="time of a plain step of the target")
    add("--verify-ms", type=ms, metavar="MS", help="time of the target's forward pass over a draft")
    add("--draft-ms", type=ms, metavar="MS", help="time of drafting per round")
    add("--overhead-ms", type=ms, metavar="MS", help="other time per round")
    add("--json", type=arguments.file_name, metavar="OUT", help="write the diagnosis")
    add("--html", type=arguments.file_name, metavar="OUT", help="write the diagnosis as a page")


def run(args: argparse.Namespace) -> int:
    """Diagnose, print and write."""
    from hsd_viz.logs.observe import measure, observe

    if (args.record is None) == (args.measure is None):
        raise ValueError("give a FILE or --measure STACK, not both")
    for path in filter(None, (args.json, args.html)):
        arguments.check_output(path)
    if args.record is None:
        _diagnose(args, measure(args.target, args.measure))
        return 0
    with arguments.reading(args.record):
        _diagnose(args, observe(args.record, args.stack))
    return 0


def _diagnose(args: argparse.Namespace, seen: Observation) -> None:
    from hsd_viz.logs.doctor import diagnose

    given = {name: getattr(args, f"{name}_ms") for name in ("step", "verify", "draft", "overhead")}
    given = {name: value for name, value in given.items() if value is not None}
    # Measured curves do not apply to given times.
    found = diagnose(replace(seen, batch=args.batch, **given, **({"calibration": None} if given else {})))
    parts: list[Any] = found.lines()
    for table in found.tables():
        parts += ["", f"{table.title}: {table.note}" if table.note else table.title, table.rows]
    # On lines of their own, to be pasted.
    settings = [f"  {engine}: {text}" for engine, text in found.flags.items()]
    show([*parts, *(["", f"{found.settings().title}:", *settings] if settings else [])])
    if args.json is not None:
        arguments.write_json(args.json, found.to_dict())
    if args.html is not None:
        from hsd_viz.logs.page import page

        arguments.write_text(
            args.html, page(f"Diagnosis of {seen.source}", found.lines(), [*found.tables(), found.settings()])
        )
