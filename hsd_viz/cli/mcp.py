"""``hsd-viz mcp``: the tools of a chat."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated as A

from hsd_viz.settings.declare import CliOption, Setting


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
