"""``hsd-viz dashboard``, ``serve`` and ``classroom``: the explorer and the engine for browsers and other programs."""

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import closing
from functools import partial
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, number, option

_DASHBOARD = """\
examples:
  hsd-viz dashboard
  hsd-viz dashboard --port 9000 --open-browser
  hsd-viz dashboard --host 0.0.0.0 --token SECRET

The page makes no network requests. Hosts other than loopback need a token. Only the models of the ladder can be run unless
--allow-models is given.
"""
_SERVE = """\
examples:
  hsd-viz serve
  hsd-viz serve --replicas 2
  hsd-viz serve --host 0.0.0.0 --token SECRET
  hsd-viz serve --address auto --replicas 8 --gpus-per-replica 1
  hsd-viz serve --replicas 8 --gpus-per-replica 1 --write-config serve.yaml

POST /decode streams events as lines of JSON; GET /models, /health and /metrics (Prometheus). In Python:
hsd_viz.connect("http://127.0.0.1:8800"). A full queue answers 503 with Retry-After. Only models of the ladder are
offered. Hosts other than loopback need a token; put a proxy with TLS in front of them.

One replica runs in this process. Several replicas, GPUs and --address use Ray, which trusts every account that can
reach its ports; a Ray that this command starts listens on loopback and requires a token.
"""
_CLASSROOM = """\
examples:
  hsd-viz classroom --host 0.0.0.0
  hsd-viz classroom --host 0.0.0.0 --pages 30 --new-tokens 128

One process decodes for all, in turns; the pages load no models. Prints the address for the class with its token, and as
a QR code. Hosts other than loopback get a random token unless --token is given.
"""


def add(commands: argparse._SubParsersAction) -> None:
    _add_dashboard(commands)
    _add_serve(commands)
    _add_classroom(commands)


def _add_dashboard(commands: argparse._SubParsersAction) -> None:
    about = "Serve the explorer to a browser until Ctrl-C."
    add = partial(
        option,
        arguments.add_command(
            commands, "dashboard", "serve the explorer to a browser", run_dashboard, about=about, epilog=_DASHBOARD
        ),
    )
    add("--host", "the address to serve on (default 127.0.0.1: this machine only)", default="127.0.0.1")
    add("--port", "the port to serve on (default 8866)", int, default=8866)
    add("--token", "access token for visitors; required for a host other than loopback")
    add("--allow-models", "allow models by hub id or path", action="store_true")
    add("--open-browser", "open the page in a browser", action="store_true")
    add("--no-preheat", "do not keep a kernel ready for the next visitor", action="store_true")
    add("--engine URL", "address of a running `hsd-viz serve` that decodes for all pages; they then load no models")
    add("--engine-token SECRET", "its token (also read from HSD_VIZ_TOKEN)", default=os.environ.get("HSD_VIZ_TOKEN"))
    add("--pages N", "the most pages that may be open, one kernel each (default: no limit)", number(1, 10_000))


def _add_serve(commands: argparse._SubParsersAction) -> None:
    text, about = "serve the engine to many visitors (needs the extra cluster)", "Serve the engine until Ctrl-C."
    parser = arguments.add_command(commands, "serve", text, run_serve, about=about, epilog=_SERVE)
    add = partial(option, parser.add_argument_group("server"))
    add("--host", "the address to serve on (default 127.0.0.1: this machine only)", default="127.0.0.1")
    add("--port", "the port to serve on (default 8800)", number(1, 65535), default=8800)
    text = "access token for clients; required for a host other than loopback (also read from HSD_VIZ_TOKEN)"
    add("--token", text, default=os.environ.get("HSD_VIZ_TOKEN"))
    add("--address RAY", "the address of a running Ray cluster, or auto (default: this machine)")
    add("--write-config F", "write the configuration for `serve deploy` to this file and exit", file_name)
    add = partial(option, parser.add_argument_group("limits"))
    add("--replicas N", "processes that decode (default 1)", number(1, 4096), default=1)
    text = "GPUs of each replica, fractions allowed (default 0)"
    add("--gpus-per-replica N", text, number(0, 64, float), default=0.0)
    text = "CPUs reserved for each replica, fractions allowed (default 1)"
    add("--cpus-per-replica N", text, number(0, 1024, float), default=1.0)
    add("--queue N", "requests that may wait (default 64)", number(0, 100_000), default=64)
    add("--per-visitor N", "requests of one visitor that may wait (default 8)", number(1, 100_000), default=8)
    add("--new-tokens N", "the most tokens of one request (default 1024)", number(1, 100_000), default=1024)
    text = "the longest prompt in characters (default 20000)"
    add("--prompt-characters N", text, number(1, 1_000_000), default=20_000)
    add("--seconds S", "the longest decode in seconds (default 300)", number(1, 86_400, float), default=300.0)
    arguments.add_machine(parser, threads=1)


def _add_classroom(commands: argparse._SubParsersAction) -> None:
    text = "serve the explorer to a class (needs the extras app and cluster)"
    about = "Serve the explorer to a class, with one engine and a page for each student, until Ctrl-C."
    parser = arguments.add_command(commands, "classroom", text, run_classroom, about=about, epilog=_CLASSROOM)
    text = "the address to serve on; 0.0.0.0: to the network (default 127.0.0.1: this machine only)"
    option(parser, "--host", text, default="127.0.0.1")
    option(parser, "--port", "the port to serve on (default 8866)", number(1, 65535), default=8866)
    option(parser, "--token", "access token for the class (default: a random one where it is needed)")
    option(parser, "--pages N", "the most pages that may be open (default 40)", number(1, 10_000), default=40)
    option(parser, "--new-tokens N", "the most tokens of one run (default 256)", number(1, 100_000), default=256)
    text = "processes that decode, each with its own models (default 1)"
    option(parser, "--replicas N", text, number(1, 64), default=1)


def run_dashboard(args: argparse.Namespace) -> int:
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


def run_serve(args: argparse.Namespace) -> int:
    """Serve until interrupted, or write the configuration."""
    from hsd_viz.ladder.load import names
    from hsd_viz.listen import check_address, is_loopback

    if args.write_config is None:
        check_address(args.host, args.port, args.token)
    settings: dict[str, Any] = {
        "models": [*names()],
        "queue": args.queue,
        "per_visitor": args.per_visitor,
        "prompt_characters": args.prompt_characters,
        "new_tokens": args.new_tokens,
        "seconds": args.seconds,
        "token": args.token,
        "hosts": ["127.0.0.1", "localhost"] if is_loopback(args.host) else ["*"],
    }
    options = {
        "settings": settings,
        "engine": arguments.engine_options(args),
        "replicas": args.replicas,
        "cpus": args.cpus_per_replica,
        "gpus": args.gpus_per_replica,
    }
    if (args.replicas, args.address, args.gpus_per_replica, args.write_config) == (1, None, 0.0, None):
        from hsd_viz.serve.plain import run as run_plain

        return run_plain(args.host, args.port, settings, options["engine"])
    from hsd_viz.cluster import LOCAL, prepare

    prepare(args.address or LOCAL)
    from hsd_viz.serve.cluster import config, run

    if args.write_config is not None:
        arguments.check_outputs(args.write_config)
        arguments.write_text(args.write_config, config(args.host, args.port, options))
        return 0
    return run(args.host, args.port, options, args.address)


def run_classroom(args: argparse.Namespace) -> int:
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
        arguments.say("starting the engine (about a minute at the first start)")
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
        engine.send_signal(signal.SIGINT)
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
