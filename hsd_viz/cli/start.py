"""``hsd-viz`` alone, ``hsd-viz --open`` and ``hsd-viz mcp``: the ways in."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.declare import CliOption, Setting
from hsd_viz.terminal import status

#: What the command without arguments prints.
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


class _Files(SimpleHTTPRequestHandler):
    """Serve files without a line for each request."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def open_explorer(open_page: bool = True) -> int:
    """Serve the explorer on loopback, open it in a browser, and return after Ctrl-C."""
    from hsd_viz.views.site import build_explorer

    with tempfile.TemporaryDirectory(prefix="hsd-viz-") as folder:
        build_explorer(Path(folder), status)
        status()
        handler = partial(_Files, directory=folder)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            address = f"http://127.0.0.1:{server.server_port}/"
            print(f"{address} (Ctrl-C ends it)", flush=True)
            _end_by_interrupt(server)
            if open_page:
                webbrowser.open(address)
            server.serve_forever()
    return 0


def _end_by_interrupt(server: ThreadingHTTPServer) -> None:
    """End a server after Ctrl-C.

    An exception would be lost where Python ignores exceptions, as in the callback of a weak
    reference, and the server would continue.
    """

    def end(*_: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGINT, end)


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
