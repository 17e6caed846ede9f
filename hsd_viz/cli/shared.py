"""Options and outputs shared by several commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.disk import STDOUT, write_text
from hsd_viz.errors import UserError
from hsd_viz.settings.argument_types import Output
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.terminal import status

#: Where to write.
Json = A[
    Path | None,
    Setting(
        "write the result as JSON; - prints it, and nothing else",
        CliOption("OUT", type=Output, const=str(STDOUT)),
    ),
]
Html = A[
    Path | None,
    Setting(
        "write the report as a page that opens offline; - prints it, and nothing else",
        CliOption("OUT", type=Output),
    ),
]
#: Where to serve, and with which token.
HOST = Setting("the address to serve on; others than loopback need a token", CliOption("HOST"))
TOKEN_FILE = Setting(
    "a file with the access token (else HSD_VIZ_TOKEN); needed for a host other than loopback",
    CliOption("F"),
)


def check_outputs(*paths: Path | None) -> None:
    """Check the paths of outputs, of which one may be :data:`~hsd_viz.disk.STDOUT`.

    Raises:
        UserError: if several are.
    """
    if paths.count(STDOUT) > 1:
        raise UserError("standard output takes one of the outputs: name files for the others")


def write_output(path: Path, text: str) -> None:
    """Write text to a file, or print it."""
    if path == STDOUT:
        print(text.removesuffix("\n"))
    else:
        write_text(path, text)


def print_paths(*paths: Path | str | None) -> None:
    """Print the paths of written files, one per line; nothing if one output was printed itself."""
    status()
    if STDOUT in paths:
        return
    for path in filter(None, paths):
        print(path)


def drop_stdout() -> None:
    """Redirect a closed standard output to the null device, because Python would report it again
    at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
