"""What it costs a run that the page follows it."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tools.browser import serving
from tools.measure_page.live_kernel import PLACE, PROMPT, RUNS, LiveRun
from tools.measure_page.opening import arrival
from tools.measure_page.visits import PATIENCE, medians_of, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def live(browser: Browser, repeats: int) -> dict[str, Any]:
    """Measure live runs of the page, interleaved with the same decode without a viewer, in one
    kernel.
    """
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        rates = Path(folder) / "rates.jsonl"
        rates.touch()
        os.environ[PLACE] = str(rates)
        with (
            serving(notebook=notebook(Path(folder))) as server,
            opened(browser, server.url, newcomer=False) as page,
        ):
            arrival(page)
            page.get_by_role("button", name="New run", exact=True).click()
            page.get_by_label("Measure speed-up over plain decoding").uncheck()
            for turn in range(repeats + 1):
                for run in RUNS:
                    figures = followed(page, run, rates)
                    if turn:  # the first loads the models
                        runs.append({"stack": run.stack, "temperature": run.temperature, **figures})
    head = f"{'live runs':<32}{'tokens/s':>9}{'alone':>9}{'ratio':>7}{'by CPU':>8}{'updates/s':>10}"
    print(f"{head}{'lag ms':>8}{'worst':>7}")
    medians = {}
    for run in RUNS:
        mine = [r for r in runs if r["stack"] == run.stack and r["temperature"] == run.temperature]
        numbers = [name for name in mine[0] if isinstance(mine[0][name], (int, float))]
        m = medians_of(mine, numbers)
        medians[run.words] = m
        speeds = f"{m['watched']:9.0f}{m['alone']:9.0f}{m['ratio']:7.3f}{m['ratio_processor']:8.3f}"
        lags = f"{m['lag_ms']:8.0f}{m['worst_lag_ms']:7.0f}"
        print(f"  {run.words:<30}{speeds}{m['updates_per_second']:10.1f}{lags}")
    return {"runs": runs, "medians": medians}


def notebook(folder: Path) -> Path:
    """A notebook with the dashboard of measure_live.py."""
    source = (
        f"import sys\n\nsys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tools.measure_page.live_kernel import paired_dashboard\n\npaired_dashboard()"
    )
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "paired",
        "metadata": {},
        "source": source,
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = folder / "paired.ipynb"
    path.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}),
        encoding="utf-8",
    )
    return path


def followed(page: Page, run: LiveRun, rates: Path) -> dict[str, Any]:
    """One run on the page: its speed with the page looking on and without, updates a second and how
    long tokens were under way.
    """
    for label, value in (
        ("Prompt", PROMPT),
        ("Stack", run.stack),
        ("New tokens", run.tokens),
        ("Temperature", run.temperature),
        ("Seed", run.seed),
    ):
        page.get_by_label(label, exact=True).fill(str(value))
    page.wait_for_timeout(1000)
    page.evaluate("hsdMeasure.follow()")
    lines_before = len(rates.read_text().splitlines())
    page.get_by_role("button", name="Run", exact=True).click()
    until = time.monotonic() + PATIENCE / 1000
    while len(lines := rates.read_text().splitlines()) == lines_before:
        if time.monotonic() > until:
            raise RuntimeError(
                f"{run.words} did not end: {page.get_by_role('alert').all_text_contents()}"
            )
        time.sleep(0.2)
    page.wait_for_function("!document.querySelector('.hsd-live')")
    page.wait_for_timeout(500)
    rate = json.loads(lines[-1])
    processor = rate["watched_processor"] / rate["alone_processor"]
    return {
        **rate,
        "ratio": rate["watched"] / rate["alone"],
        "ratio_processor": processor,
        **flow(page),
    }


def flow(page: Page) -> dict[str, float]:
    """How the run that was followed came to be painted: updates a second, and ms from the end of a
    round to the frame that shows it.
    """
    grown = page.evaluate("hsdMeasure.grown()")
    steps = page.evaluate("hsdMeasure.steps()")
    seconds = (grown[-1][0] - grown[0][0]) / 1000
    # The first moment of the run on the page's clock, as the quickest message has it: a message is
    # made soon after its last round.
    zero = min(step["made"] - step["ended"] / 1e6 for step in steps)
    lags = []
    tokens = 0
    for step in steps:
        tokens += step["tokens"]
        paint = next((at for at, n in grown if n >= tokens), None)
        if paint is not None:
            lags.append(paint - (zero + step["ended"] / 1e6))
    return {
        "messages": len(steps),
        "updates": len(grown),
        "updates_per_second": (len(grown) - 1) / seconds if seconds else 0.0,
        "bytes": sum(step["bytes"] for step in steps),
        "lag_ms": median(lags),
        "worst_lag_ms": max(lags),
    }
