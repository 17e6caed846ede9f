"""The commands and their options. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import NoReturn

from hsd_viz.cli import bench, dashboard, databases, decode, export, ladder, plan, traces

_EPILOG = """\
examples:
  hsd-viz decode --stack "db > target" --prompt "def main("
  hsd-viz bench --stack "db > target" --stack "nano:4 > target" --limit 12
  hsd-viz dashboard

a stack is read left to right, '>' means "drafts for", the last part is the target:
  target                           plain decoding
  db > target                      databases draft: context, model, statistics
  nano:4 > target                  a draft model, at least 4 tokens at a time (1-64; 4 when left out)
  nano:4 > small:8 > target        a hierarchy of draft models
  db > nano:6 > small:8 > target   databases beneath a hierarchy

exit codes: 0 done, 2 bad usage or input, 130 interrupted or the reader of the output left (as in `| head -1`)

`hsd-viz COMMAND --help` tells more about each command.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def __init__(self, *args, **kwargs) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def build_parser() -> Parser:
    """The parser of ``hsd-viz``; parsed arguments carry the command's function as ``run``."""
    parser = Parser(prog="hsd-viz", description="See, measure and learn speculative decoding.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"hsd-viz {version('hsd-viz')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for module in (decode, bench, plan, dashboard, export, traces, databases, ladder):
        module.add(commands)
    return parser
