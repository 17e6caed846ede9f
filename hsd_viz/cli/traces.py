"""``hsd-viz traces``: the recorded decodes that come with the package."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz traces list
  hsd-viz traces record
  hsd-viz traces record --side-by-side
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "traces",
        help="list and record the bundled traces",
        description="The recorded decodes that come with the package.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser(
        "list", help="what was recorded", description="List the recorded decodes.", epilog=_EPILOG
    )
    listing.set_defaults(run=run_list)
    record = actions.add_parser(
        "record", help="record them anew", description="Record the bundled traces anew, with the shipped models."
    )
    record.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder for the files (default: that of the package)"
    )
    record.add_argument(
        "--side-by-side", action="store_true", help="those of one prompt with several stacks, in place of the others"
    )
    record.set_defaults(run=run_record)


def run_list(args: argparse.Namespace) -> int:
    """Print name, stack and title of each recording; those of one prompt, to lay side by side, by their groups."""
    from hsd_viz.engine.replay import bundled, side_by_side

    single, groups = bundled(), side_by_side()
    if not single and not groups:
        raise ValueError("no recorded traces come with this installation: record them with `hsd-viz traces record`")
    headed = [("", single), *((f"side by side, {name}:", rows) for name, rows in groups.items())]
    rows = [r for _, group in headed for r in group]
    name, stack = (max(len(getattr(r, column)) for r in rows) for column in ("name", "stack"))
    parts = []
    for head, group in headed:
        lines = [f"{r.name:<{name}}  {r.stack:<{stack}}  {r.title}" for r in group]
        parts.append("\n".join([head, *(f"  {line}" for line in lines)] if head else lines))
    print("\n\n".join(part for part in parts if part))
    return 0


def run_record(args: argparse.Namespace) -> int:
    """Record and say where the files are."""
    for path in record(args.out, args.side_by_side):
        print(path)
    return 0


def record(out: Path | None = None, side_by_side: bool = False) -> list[Path]:
    """Record the bundled traces into ``out``, the package's folder when left out; returns the files."""
    from tools.record import record_side_by_side, record_traces

    found = (record_side_by_side if side_by_side else record_traces)(out, progress=arguments.status)
    arguments.status()
    return found
