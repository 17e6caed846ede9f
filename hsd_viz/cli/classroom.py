"""``hsd-viz classroom``: one engine and a page for each student, on one machine."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import subprocess
import sys
from contextlib import closing

from hsd_viz.cli.arguments import add_command, number, say

_EPILOG = """\
examples:
  hsd-viz classroom --host 0.0.0.0
  hsd-viz classroom --host 0.0.0.0 --pages 30 --new-tokens 128

One process decodes for all, in turns; the pages load no models. Prints the address for the class with its token, and as
a QR code. Hosts other than loopback get a random token unless --token is given.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "serve the explorer to a class (needs the extras app and cluster)"
    about = "Serve the explorer to a class, with one engine and a page for each student, until Ctrl-C."
    parser = add_command(commands, "classroom", text, run, about=about, epilog=_EPILOG)
    text = "the address to serve on; 0.0.0.0: to the network (default 127.0.0.1: this machine only)"
    parser.add_argument("--host", default="127.0.0.1", help=text)
    parser.add_argument("--port", type=number(1, 65535), default=8866, help="the port to serve on (default 8866)")
    parser.add_argument("--token", help="access token for the class (default: a random one where it is needed)")
    text = "the most pages that may be open (default 40)"
    parser.add_argument("--pages", type=number(1, 10_000), default=40, metavar="N", help=text)
    text = "the most tokens of one run (default 256)"
    parser.add_argument("--new-tokens", type=number(1, 100_000), default=256, metavar="N", help=text)
    text = "processes that decode, each with its own models (default 1)"
    parser.add_argument("--replicas", type=number(1, 64), default=1, metavar="N", help=text)


def run(args: argparse.Namespace) -> int:
    """Start the engine, then the pages; both end together."""
    import segno

    from hsd_viz.listen import check_address, free_port, is_loopback, url
    from hsd_viz.views.app.server import serve as serve_pages

    token = args.token or (None if is_loopback(args.host) else secrets.token_urlsafe(9))
    check_address(args.host, args.port, token)
    engine_token = secrets.token_urlsafe(16)
    port = free_port()
    command = [sys.executable, "-m", "hsd_viz", "serve", "--port", str(port), "--per-visitor", "5"]
    command += ["--queue", str(args.pages * 2), "--new-tokens", str(args.new_tokens), "--replicas", str(args.replicas)]
    environment = os.environ | {"HSD_VIZ_TOKEN": engine_token}
    engine = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        say("starting the engine (about a minute at the first start)")
        # Its first line is its address; without one it has explained why on stderr.
        if not engine.stdout.readline():  # type: ignore[union-attr]
            return engine.wait()
        address = url(reachable(args.host), args.port) + (f"?token={token}" if token else "")
        print(f"for the class: {address}")
        segno.make(address, error="m").terminal(compact=True)
        return serve_pages(
            args.host, args.port, token, engine=(f"http://127.0.0.1:{port}", engine_token), pages=args.pages
        )
    finally:
        engine.terminate()
        engine.wait()


def reachable(host: str) -> str:
    """Return the address at which others reach ``host``; sends nothing."""
    if host not in ("", "0.0.0.0"):
        return host
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            # Connecting a datagram socket only selects a route.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()
