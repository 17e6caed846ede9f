"""Options and outputs of several commands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.terminal import status

#: The files to write.
Json = A[Path | None, Setting("write the report as JSON", CliOption("OUT", writes="file"))]
Html = A[
    Path | None,
    Setting("write the report as a page that opens offline", CliOption("OUT", writes="file")),
]


def print_json(data: Any) -> None:
    """Print JSON in one line; what has no form in JSON is printed as text."""
    print(json.dumps(data, default=str))


def print_paths(*paths: Path | str | None) -> None:
    """Print the paths of what was written, a line each."""
    status()
    for path in filter(None, paths):
        print(path)


def drop_stdout() -> None:
    """Redirect a closed standard output to the null device: Python would report it again at
    exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
