"""Options and outputs shared by several commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.disk import STDOUT
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


def print_paths(*paths: Path | str | None) -> None:
    """Print the paths of written files, one per line."""
    status()
    for path in filter(None, paths):
        print(path)


def drop_stdout() -> None:
    """Redirect a closed standard output to the null device, because Python would report it again
    at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
