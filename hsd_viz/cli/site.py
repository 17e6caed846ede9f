"""``hsd-viz site``: a static site of recorded runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli.arguments import folder_name, status, writing


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    text = "build a static site of recorded runs, races and reports"
    parser = commands.add_parser("site", help=text, description=f"{text.capitalize()}.")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "write the site to a folder, to open from there or to upload to a static host"
    build = actions.add_parser("build", help=text, description=f"{text.capitalize()}.")
    build.add_argument("out", type=folder_name, metavar="OUT", help="a new or empty folder, or an earlier site")
    build.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the site and print where its index is."""
    from hsd_viz.views.site import build

    out: Path = args.out
    with writing(out):
        size = build(out, status)
    status()
    print(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")
    return 0
