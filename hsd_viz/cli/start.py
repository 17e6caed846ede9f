"""``hsd-viz`` without a command, and ``hsd-viz mcp``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.settings.declare import CliOption, Setting

#: Output of the command without arguments.
OVERVIEW = """\
See, measure and learn speculative decoding. Three things to do:

  look inside   hsd-viz --open
                The explorer in a browser: every token, what proposed it and why it was accepted.
  decode        hsd-viz decode --stack "db > target" --prompt "def main("
                A text, and how many tokens each forward pass of the target brought.
  find out      hsd-viz doctor LOG
                Why your own server is not faster with speculation, and what to set.

hsd-viz --help lists all commands.\
"""
OPEN_HELP = "open the explorer, which decodes in the browser's own tab"


def mcp(
    *,
    folder: A[
        Path | None,
        Setting("the folder whose files may be read: records, logs and traces", CliOption("DIR")),
    ] = None,
) -> None:
    """Serve doctor, predict, replay and decode to a chat, by the Model Context Protocol."""
    from hsd_viz.mcp.protocol import serve
    from hsd_viz.mcp.tools import make_server

    server = make_server(folder)

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    serve(server, sys.stdin.buffer, write)
