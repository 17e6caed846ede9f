"""The explorer for a class: one engine in a separate process, and a page per student."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.machine import check_address, free_port, is_loopback, url
from hsd_viz.models.families import find_family
from hsd_viz.terminal import say
from hsd_viz.views.app import server


def serve_class(
    host: str,
    port: int,
    token: str | None,
    *,
    pages: int,
    new_tokens: int,
    replicas: int,
    family: str,
) -> int:
    """Serve the explorer to a class until Ctrl-C. Print its address as text and as a QR code.

    Args:
        host: the address to bind to.
        port: the port.
        token: the token of the class. ``None``: a random one if the network can reach the server.
        pages: the maximum number of open pages.
        new_tokens: the maximum number of tokens of a run.
        replicas: the number of processes that decode.
        family: the family of models.

    Returns:
        The exit code.

    Raises:
        UserError: if the server cannot bind to the address, or the family is unknown.
    """
    import segno

    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(16)
    check_address(host, port, token)
    engine_token = secrets.token_urlsafe(16)
    engine_port = free_port()
    with tempfile.TemporaryDirectory(prefix="hsd-viz-") as private:
        token_file = Path(private) / "token"
        write_whole(token_file, engine_token, mode=0o600)
        options = {
            "--port": engine_port,
            "--queue": pages * 2,
            "--new-tokens": new_tokens,
            "--replicas": replicas,
            "--family": find_family(family).name,
            "--token-file": token_file,
        }
        command = [sys.executable, "-m", "hsd_viz", "serve"]
        for name, value in options.items():
            command += [name, str(value)]
        engine = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            say("starting the engine (about a minute at the first start)")
            # The engine prints its address first; if it fails, it explains why on stderr.
            assert engine.stdout is not None
            if not engine.stdout.readline():
                return engine.wait()
            address = url(reachable(host), port) + (f"?token={token}" if token else "")
            print(f"for the class: {address}")
            segno.make(address, error="m").terminal(compact=True)
            remote = (f"http://127.0.0.1:{engine_port}", engine_token)
            return server.serve(host, port, token, engine=remote, pages=pages, family=family)
        finally:
            engine.send_signal(signal.SIGINT)
            engine.wait()


def reachable(host: str) -> str:
    """Return the address at which other machines reach ``host``. Sends no packets."""
    if host not in ("", "0.0.0.0"):
        return host
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            # Connecting a datagram socket only selects a route.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()
