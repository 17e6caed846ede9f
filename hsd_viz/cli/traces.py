"""``hsd-viz traces``: the bundled recorded decodes."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz traces list
  hsd-viz traces record
  hsd-viz traces record --side-by-side

Recording needs a checkout of the project: it runs tools/record.py.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = arguments.add_command(commands, "traces", "list and record the bundled traces", epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    arguments.add_command(actions, "list", "list the recorded decodes", run_list, epilog=_EPILOG)
    text = "record the bundled traces again with the shipped models"
    record = arguments.add_command(actions, "record", text, run_record, epilog=_EPILOG)
    record.add_argument("--out", type=Path, metavar="DIR", help="folder for the files (default: that of the package)")
    text = "record one prompt with several stacks instead"
    record.add_argument("--side-by-side", action="store_true", help=text)


def run_list(args: argparse.Namespace) -> int:
    """Print name, stack, title and speed-up of each recording, then the recordings of one prompt by group."""
    from hsd_viz.engine.replay import bundled, side_by_side

    single, groups = bundled(), side_by_side()
    if not single and not groups:
        raise ValueError("this installation contains no recorded traces: record them with `hsd-viz traces record`")
    headed = [("", single), *((f"side by side, {name}:", rows) for name, rows in groups.items())]
    rows = [r for _, group in headed for r in group]
    name, stack = (max(len(getattr(r, column)) for r in rows) for column in ("name", "stack"))
    parts = []
    for head, group in headed:
        lines = [f"{r.name:<{name}}  {r.stack:<{stack}}  {r.label}" for r in group]
        parts.append("\n".join([head, *(f"  {line}" for line in lines)] if head else lines))
    print("\n\n".join(part for part in parts if part))
    return 0


def run_record(args: argparse.Namespace) -> int:
    """Record and print the paths of the files."""
    tool = checkout_tool("record")
    paths = (tool.record_side_by_side if args.side_by_side else tool.record_traces)(args.out, progress=arguments.status)
    arguments.status()
    for path in paths:
        print(path)
    return 0


def checkout_tool(name: str) -> ModuleType:
    """Import ``tools/NAME.py`` of the checkout that contains this package. Raises ValueError if there is none."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "tools" / f"{name}.py").is_file():
        raise ValueError(f"this needs a checkout of the project: {root / 'tools' / name}.py does not exist")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(f"tools.{name}")
