"""Measure the forward passes of a browser tab.

    python -m tools.measure_page.tab [--json OUT]

Builds the site, serves it on 127.0.0.1, and presses the button of the article's first scene in
Chromium, once per model. About two minutes; nothing else may run on the machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Callable
from datetime import date
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hsd_viz.disk import write_whole
from hsd_viz.machine import describe
from hsd_viz.models.families import LEVELS
from hsd_viz.views.site import build
from tools.browser import chromium

MODELS = LEVELS[::-1]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print no line per request."""


def measure() -> dict:
    """Return milliseconds of a forward pass by model and number of tokens, with the browser and
    the machine.
    """
    measures: dict = {"browser": "", "milliseconds": {}}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        build(Path(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        measures["browser"] = f"Chromium {browser.version.split('.')[0]}"
        for model in MODELS:
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            scene = page.locator("#scene-passes")
            scene.get_by_label("Model").select_option(model)
            scene.get_by_role("button", name="Measure in this tab").click()
            # The first column of a closed table, which appears with the measured times.
            scene.locator("th", has_text="This tab").wait_for(state="attached", timeout=60_000)
            rows = scene.locator("table tr").all_text_contents()[1:]
            cells = [row.split() for row in rows]
            measures["milliseconds"][model] = {tokens: float(ms) for tokens, ms, *_ in cells}
            page.close()
        server.shutdown()
    return {
        "what": "milliseconds of a forward pass in a browser tab",
        "date": f"{date.today()}",
        **measures,
    }


def run(
    doc: str | None, module: str, measure: Callable[[], dict[str, Any]], description: str
) -> None:
    """Measure as a command of ``module``: write the figures to ``--json``, and print those named
    ``description``.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="OUT")
    path = parser.parse_args().json
    data = measure() | {
        "machine": describe(1),
        "command": f"python -m tools.{module} --json {path}",
    }
    if path:
        write_whole(path, json.dumps(data, indent=1) + "\n")
    print(json.dumps(data[description], indent=1))


if __name__ == "__main__":
    run(__doc__, "measure_page.tab", measure, "milliseconds")
