"""``hsd-viz dashboard``: serve the explorer to a browser."""

from __future__ import annotations

import argparse

from hsd_viz.cli.arguments import add_command

_EPILOG = """\
examples:
  hsd-viz dashboard
  hsd-viz dashboard --port 9000 --open-browser
  hsd-viz dashboard --host 0.0.0.0 --token SECRET

The page makes no network requests. Hosts other than loopback need a token. Only the models of the ladder can be run unless
--allow-models is given.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    about = "Serve the explorer to a browser until Ctrl-C."
    add = add_command(
        commands, "dashboard", "serve the explorer to a browser", run, about=about, epilog=_EPILOG
    ).add_argument
    add("--host", default="127.0.0.1", help="the address to serve on (default 127.0.0.1: this machine only)")
    add("--port", type=int, default=8866, help="the port to serve on (default 8866)")
    add("--token", help="access token for visitors; required for a host other than loopback")
    add("--allow-models", action="store_true", help="allow models by hub id or path")
    add("--open-browser", action="store_true", help="open the page in a browser")
    add("--no-preheat", action="store_true", help="do not keep a kernel ready for the next visitor")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from hsd_viz.views.app.server import serve

    options = {"allow_models": args.allow_models, "open_browser": args.open_browser, "preheat": not args.no_preheat}
    return serve(args.host, args.port, token=args.token, **options) or 0
