"""``hsd-viz site``: a static site of recorded runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli.arguments import add_command, folder_name, status, writing


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = add_command(commands, "site", "build a static site of recorded runs, races, lessons and reports")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    text = "write the site to a folder, to open from there or to upload to a static host"
    build = add_command(actions, "build", text, run)
    build.add_argument("out", type=folder_name, metavar="OUT", help="a new or empty folder, or an earlier site")


def run(args: argparse.Namespace) -> int:
    """Build the site and print where its index is."""
    from hsd_viz.views.site import build

    out: Path = args.out
    with writing(out):
        size = build(out, status)
    status()
    print(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")
    return 0
