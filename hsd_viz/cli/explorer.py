"""``hsd-viz --open``: serves the explorer on loopback until Ctrl-C."""

from __future__ import annotations

import signal
import tempfile
import threading
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hsd_viz.terminal import status
from hsd_viz.views.site import build_explorer


class _Files(SimpleHTTPRequestHandler):
    """Handler that serves files without logging requests."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def open_explorer(open_page: bool = True) -> int:
    """Serve the explorer on loopback, open it in a browser, and return after Ctrl-C."""
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

    A KeyboardInterrupt would be lost where Python ignores exceptions, such as in the callback of a
    weak reference, and the server would continue.
    """

    def end(*_: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGINT, end)
