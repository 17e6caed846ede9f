"""``hsd-viz databases``: what the databases hold, and building them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz databases inspect
  hsd-viz databases inspect my.hsdb --json
  hsd-viz databases build --out databases/ --only statistics
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "databases",
        help="inspect and build the draft databases",
        description="What the draft databases hold, and building them.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    inspect = actions.add_parser("inspect", help="what a database holds", description="Show what a database file holds.", epilog=_EPILOG)
    inspect.add_argument("path", nargs="?", type=Path, metavar="PATH", help="a database file (default: all that come with the models)")
    inspect.add_argument("--json", action="store_true", help="print JSON: one object, or a list of them when PATH is left out")
    inspect.set_defaults(run=run_inspect)
    build = actions.add_parser(
        "build",
        help="build them for the ladder",
        description="Build the statistics database from the ladder's corpus and the model database from what its target writes.",
        epilog=_EPILOG,
    )
    build.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the files")
    build.add_argument("--weights", type=Path, metavar="DIR", help="the folder of the ladder's models (default: the shipped ones)")
    build.add_argument("--data", type=Path, metavar="DIR", help="a folder with train.npy (default: tokenize this environment's corpus)")
    build.add_argument("--only", choices=("model", "statistics"), help="build one of the two")
    build.set_defaults(run=run_build)


def shipped() -> list[Path]:
    """The database files that come with the models."""
    from hsd_viz.ladder.load import weights_dir

    return sorted((weights_dir() / "databases").glob("*.hsdb"))


def run_inspect(args: argparse.Namespace) -> int:
    """Print what the databases hold."""
    from hsd_viz.drafting.inspect import describe

    paths = [args.path] if args.path is not None else shipped()
    if not paths:
        raise ValueError("no databases come with this installation: build them with `hsd-viz databases build`")
    found = [describe(path) for path in paths]
    if args.json:
        print(json.dumps(found[0] if args.path is not None else found, default=str))
    else:
        print("\n\n".join(map(_text, found)))
    return 0


def _text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['path']}: {facts['kind']} database, {facts['bytes'] / 1e6:.1f} MB"]
    lengths = ", ".join(f"{keys} of {n}" for n, keys in sorted(facts["keys_by_length"].items()))
    lines.append(f"  {facts['keys']} keys ({lengths} tokens), {facts['continuations']} continuations, {facts['vocabulary_size']} token ids")
    lines += [f"  {name}: {json.dumps(value, default=str)}" for name, value in facts["meta"].items()]
    return "\n".join(lines)


def run_build(args: argparse.Namespace) -> int:
    """Build and say where the files are."""
    from hsd_viz.ladder.databases import rebuild_databases

    args.out.mkdir(parents=True, exist_ok=True)
    paths = rebuild_databases(
        args.out,
        weights=args.weights,
        data=args.data,
        only=args.only,
        progress=lambda what, share: arguments.status(f"{what} {share:.0%}"),
    )
    arguments.status()
    for path in paths:
        print(path)
    return 0
