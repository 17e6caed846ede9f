"""Measure answers of SmolLM2 in a browser tab and natively.

    python -m tools.measure_page.tab_family [--json OUT]

Builds the site with the family, serves it on 127.0.0.1, loads it in Chromium, and decodes the same
requests in the tab and natively on one thread, in turns. Each figure is the median over prompts of
a prompt's fastest turn. About two minutes; nothing else should run on the machine.
"""

from __future__ import annotations

import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz import load_engine
from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.models.families import SMOLLM2
from hsd_viz.views.site import build
from tools.browser import chromium
from tools.measure_page.tab import Quiet, run

STACKS = ("target", "db > target", "nano:4 > target", "db > nano:4 > target")
PROMPTS = (
    "Why is the sky blue?",
    "What are the months of the year?",
    "Repeat this text three times: The ferry leaves the harbour at noon and returns at dusk.",
)
TURNS = 4
TOKENS = 48


def measure() -> dict[str, Any]:
    """Return tokens per second by place and stack."""
    engine = load_engine(family=SMOLLM2, device="cpu", threads=1)
    engine.wait_ready()
    speeds: dict[str, dict[str, dict[str, float]]] = {
        place: defaultdict(dict) for place in ("tab", "native")
    }
    differing = 0
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        build(Path(folder), families=[SMOLLM2])
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.evaluate("window.hsd.ready")
        page.evaluate("window.hsd.load('smollm2')")
        for _ in range(TURNS):
            for prompt in PROMPTS:
                for stack in STACKS:
                    options: DecodingKeywords = {
                        "chat": True,
                        "max_new_tokens": TOKENS,
                        "rule": "token",
                    }
                    measures = page.evaluate(
                        "(r) => window.hsd.decode({ ...r, family: 'smollm2' })",
                        {"prompt": prompt, "stack": stack, **options},
                    )
                    trace = engine.run(prompt, stack, **options)
                    differing += measures["token_ids"] != trace.token_ids
                    _keep_fastest(speeds["tab"][stack], prompt, measures["metrics"])
                    _keep_fastest(speeds["native"][stack], prompt, trace.metrics())
        version = f"Chromium {browser.version.split('.')[0]}"
        server.shutdown()
    return {
        "what": "tokens per second of SmolLM2 in a browser tab and on the native runtime",
        "date": f"{date.today()}",
        "browser": version,
        "prompts": PROMPTS,
        "turns": TURNS,
        "max_new_tokens": TOKENS,
        "differing_outputs": differing,
        "tokens_per_second": {place: _medians(measures) for place, measures in speeds.items()},
    }


def _medians(speeds: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the median over the prompts by stack."""
    return {stack: round(median(values.values()), 1) for stack, values in speeds.items()}


def _keep_fastest(by_prompt: dict[str, float], prompt: str, metrics: Mapping[str, Any]) -> None:
    by_prompt[prompt] = max(by_prompt.get(prompt, 0.0), metrics["tokens_per_second"])


if __name__ == "__main__":
    run(__doc__, "measure_page.tab_family", measure, "tokens_per_second")
