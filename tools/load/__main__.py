"""Load on the servers, by clients that speak their protocols; each prints one JSON object.

    python -m tools.load class [URL --pid PID] --visitors 29
    python -m tools.load clients http://127.0.0.1:8800 --number 200
    python -m tools.load soak http://127.0.0.1:8800 --number 1000 --pid PID

``class``: visitors and one Chromium open a page at once, and run 64 tokens where the page has a Run
button. Without URL it starts ``hsd-viz classroom`` and ends it. Printed are ``errors``,
``first_paint`` (seconds until the recorded run or the live page appears), ``live`` (seconds until
the live page has its states) and ``memory_mb``: of the process ``--pid`` and all below it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os

from tools.load.clients import many_clients, soak
from tools.load.visitors import visit_class, visit_classroom


def main() -> int:
    """Run one kind of load and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("class", "clients", "soak"))
    parser.add_argument("url", nargs="?")
    parser.add_argument(
        "--settle",
        type=float,
        default=20,
        help="seconds for the warm kernels before the class comes",
    )
    parser.add_argument("--visitors", type=int, default=29)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--token", default=os.environ.get("HSD_VIZ_TOKEN"))
    parser.add_argument("--pid", type=int)
    args = parser.parse_args()
    if args.kind == "class":
        result = asyncio.run(visit_class(args)) if args.url else visit_classroom(args)
    else:
        result = many_clients(args) if args.kind == "clients" else soak(args)
    print(json.dumps(result | {"load_average": os.getloadavg()[0]}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
