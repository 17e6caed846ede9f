"""``hsd-viz serve``: the engine as a service for many visitors, on one machine or a Ray cluster."""

from __future__ import annotations

import argparse
import os
from typing import Any

from hsd_viz.cli.arguments import add_command, add_machine, check_output, engine_options, file_name, number, write_text

_EPILOG = """\
examples:
  hsd-viz serve
  hsd-viz serve --port 8800 --replicas 2
  hsd-viz serve --host 0.0.0.0 --token SECRET
  hsd-viz serve --address auto --replicas 8 --gpus-per-replica 1
  hsd-viz serve --replicas 8 --gpus-per-replica 1 --write-config serve.yaml

POST /decode streams events as lines of JSON; GET /models, /health and /metrics (Prometheus). In Python:
hsd_viz.connect("http://127.0.0.1:8800"). A full queue answers 503 with Retry-After. Only models of the ladder are
offered. Hosts other than loopback need a token; put a proxy with TLS in front of them.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text, about = "serve the engine to many visitors (needs the extra cluster)", "Serve the engine until Ctrl-C."
    parser = add_command(commands, "serve", text, run, about=about, epilog=_EPILOG)
    add = parser.add_argument_group("server").add_argument
    add("--host", default="127.0.0.1", help="the address to serve on (default 127.0.0.1: this machine only)")
    add("--port", type=number(1, 65535), default=8800, help="the port to serve on (default 8800)")
    text = "access token for clients; required for a host other than loopback (also read from HSD_VIZ_TOKEN)"
    add("--token", default=os.environ.get("HSD_VIZ_TOKEN"), help=text)
    text = "the address of a running Ray cluster, or auto (default: start Ray on this machine)"
    add("--address", metavar="RAY", help=text)
    text = "write the configuration for `serve deploy` to this file and exit"
    add("--write-config", type=file_name, metavar="F", help=text)
    add = parser.add_argument_group("limits").add_argument
    add("--replicas", type=number(1, 4096), default=1, metavar="N", help="processes that decode (default 1)")
    text = "GPUs of each replica, fractions allowed (default 0)"
    add("--gpus-per-replica", type=number(0, 64, float), default=0.0, metavar="N", help=text)
    text = "CPUs reserved for each replica, fractions allowed (default 1)"
    add("--cpus-per-replica", type=number(0, 1024, float), default=1.0, metavar="N", help=text)
    add("--queue", type=number(0, 100_000), default=64, metavar="N", help="requests that may wait (default 64)")
    text = "requests of one visitor that may wait (default 8)"
    add("--per-visitor", type=number(1, 100_000), default=8, metavar="N", help=text)
    text = "the most tokens of one request (default 1024)"
    add("--new-tokens", type=number(1, 100_000), default=1024, metavar="N", help=text)
    text = "the longest prompt in characters (default 20000)"
    add("--prompt-characters", type=number(1, 1_000_000), default=20_000, metavar="N", help=text)
    text = "the longest decode in seconds (default 300)"
    add("--seconds", type=number(1, 86_400, float), default=300.0, metavar="S", help=text)
    add_machine(parser, threads=1)


def run(args: argparse.Namespace) -> int:
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
    arguments = {
        "settings": settings,
        "engine": engine_options(args),
        "replicas": args.replicas,
        "cpus": args.cpus_per_replica,
        "gpus": args.gpus_per_replica,
    }
    from hsd_viz.serve.cluster import config, run

    if args.write_config is not None:
        check_output(args.write_config)
        write_text(args.write_config, config(args.host, args.port, arguments))
        return 0
    return run(args.host, args.port, arguments, args.address)
