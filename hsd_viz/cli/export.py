"""``hsd-viz export``: a saved trace in other formats."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli import arguments

_EPILOG = """\
example:
  hsd-viz export run.json.gz --csv tables/

writes tokens.csv, drafts.csv, rounds.csv and calls.csv, one row per token, draft token, verification and forward. Times are
nanoseconds from the start of the decode; lists (path, top, ...) are written as JSON.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "export", help="write a saved trace as tables", description="Write a saved trace as tables.", epilog=_EPILOG
    )
    parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace written by decode --save")
    parser.add_argument("--csv", type=Path, required=True, metavar="DIR", help="the folder for the tables; it is made where it is missing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Export and say what was written."""
    from hsd_viz.trace import Trace
    from hsd_viz.trace.export import write_csv

    trace = Trace.load(args.trace)
    with arguments.writing(args.csv):
        paths = write_csv(trace, args.csv)
    for path in paths:
        print(path)
    return 0
