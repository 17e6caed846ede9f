"""``hsd-viz dashboard``: serve the explorer to a browser."""

from __future__ import annotations

import argparse

_EPILOG = """\
examples:
  hsd-viz dashboard
  hsd-viz dashboard --port 9000 --open-browser
  hsd-viz dashboard --host 0.0.0.0 --token SECRET

The page makes no network requests. Serving beyond this machine requires a token. Only models of the ladder can be run
unless --allow-models is given.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "serve the explorer to a browser"
    parser = commands.add_parser(
        "dashboard", help=text, description=f"{text.capitalize()} until Ctrl-C.", epilog=_EPILOG
    )
    text = "address to serve on (default 127.0.0.1: this machine only)"
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help=text)
    parser.add_argument("--port", type=int, default=8866, metavar="P", help="port to serve on (default 8866)")
    parser.add_argument("--token", metavar="T", help="secret that visitors need; required for any other host")
    parser.add_argument("--allow-models", action="store_true", help="let visitors load models by hub id or path")
    parser.add_argument("--open-browser", action="store_true", help="open the page in a browser")
    parser.add_argument("--no-preheat", action="store_true", help="keep no kernel ready: visitors wait longer")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from hsd_viz.serve import serve

    options = {"allow_models": args.allow_models, "open_browser": args.open_browser, "preheat": not args.no_preheat}
    return serve(args.host, args.port, token=args.token, **options) or 0
