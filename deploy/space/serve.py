"""Serve the files of a built site: ``python serve.py FOLDER [PORT] [HOST]``.

Only GET and HEAD; nothing is run.
"""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: The port that a Space expects.
PORT = 7860


class Files(SimpleHTTPRequestHandler):
    """Files with their types, no lists of folders, and headers that keep them apart from other
    pages.
    """

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def list_directory(self, path: str) -> None:
        self.send_error(404)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log no visitor."""


def main(folder: str, port: str = str(PORT), host: str = "0.0.0.0") -> None:
    """Serve until the process ends."""
    root = Path(folder).resolve(strict=True)
    with ThreadingHTTPServer((host, int(port)), partial(Files, directory=str(root))) as server:
        print(f"http://{host}:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
