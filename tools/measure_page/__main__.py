"""Measure the page: the first screen of a site, time to open the dashboard, bytes transferred, a
trace of 10 000 tokens, latency from a key to the views, and the cost of watching a live run.

    python -m tools.measure_page [--json FILE] [--repeats N] [--only first,load,keys,live]

Runs a real Chromium against Voilà as ``hsd-viz dashboard`` serves it, on this machine as it is: the
load average is recorded. Takes about three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.disk import write_whole
from hsd_viz.machine import describe
from tools.browser import chromium
from tools.measure_page.first_screen import first
from tools.measure_page.keys import keys
from tools.measure_page.live import live
from tools.measure_page.opening import load

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write every single figure there")
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="visits of each kind, and runs with and without the page (default 5)",
    )
    parser.add_argument(
        "--only",
        default="first,load,keys,live",
        help="what to measure, of first, load, keys and live (default: all)",
    )
    args = parser.parse_args()
    parts: dict[str, Callable[[Browser, int], Any]] = {
        "first": first,
        "load": load,
        "keys": keys,
        "live": live,
    }
    report: dict[str, Any] = {
        "machine": describe(),
        "command": shlex.join(["python", "-m", "tools.measure_page", *sys.argv[1:]]),
    }
    with chromium() as browser:
        for name in args.only.split(","):
            begun = time.monotonic()
            before = os.getloadavg()[0]
            report[name] = parts[name](browser, args.repeats)
            report[name]["load_average"] = [before, os.getloadavg()[0]]
            print(
                f"  ({name}: {time.monotonic() - begun:.0f} s, load average {before:.2f} to "
                f"{os.getloadavg()[0]:.2f})\n",
                flush=True,
            )
    if args.json:
        write_whole(args.json, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
