"""``hsd-viz dashboard``: serve the explorer to a browser."""

from __future__ import annotations

import argparse
import os

from hsd_viz.cli.arguments import add_command, number

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
    text = "address of a running `hsd-viz serve` that decodes for all pages; they then load no models"
    add("--engine", metavar="URL", help=text)
    text = "its token (also read from HSD_VIZ_TOKEN)"
    add("--engine-token", default=os.environ.get("HSD_VIZ_TOKEN"), metavar="SECRET", help=text)
    text = "the most pages that may be open, one kernel each (default: no limit)"
    add("--pages", type=number(1, 10_000), metavar="N", help=text)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from hsd_viz.engine.remote import connect
    from hsd_viz.views.app.server import serve

    engine = None
    if args.engine is not None:
        connect(args.engine, args.engine_token)
        engine = (args.engine, args.engine_token)
    options = {
        "engine": engine,
        "pages": args.pages,
        "allow_models": args.allow_models,
        "open_browser": args.open_browser,
        "preheat": not args.no_preheat,
    }
    return serve(args.host, args.port, token=args.token, **options) or 0
