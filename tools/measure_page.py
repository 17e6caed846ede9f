"""Measure the page: the first screen of a site, time to open the dashboard, bytes transferred, a
trace of 10 000 tokens, latency from a key to the views, and the cost of watching a live run.

    python -m tools.measure_page [--json FILE] [--repeats N] [--only first,load,keys,live]

Runs a real Chromium against Voilà as ``hsd-viz dashboard`` serves it, on this machine as it is: the
load average is recorded. Takes about three minutes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from hsd_viz.disk import write_whole
from hsd_viz.machine import describe
from hsd_viz.views.run_data import MOST_TOKENS
from hsd_viz.views.site import build
from tools.measure_live import PLACE, PROMPT, RUNS, Run, long_trace
from tools.pages import Server, chromium, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
#: Milliseconds that anything may take before the measurement is given up.
PATIENCE = 120_000
#: The trace that is opened and that keys step through: the longest that the page shows; sampled, so
#: that drafts are often rejected.
TOKENS = MOST_TOKENS
STACK = "db > nano:4 > target"
#: Keys as people press them: events, tokens, rounds, there and back.
KEYS = (
    "ArrowRight",
    "ArrowRight",
    ".",
    "ArrowRight",
    "Shift+ArrowRight",
    "ArrowLeft",
    ".",
    "Shift+ArrowRight",
)
#: Tabs that keys are pressed on, and what then is to follow.
OWN = ("token stream", "staircase")
TABS = {"Watch": OWN, "Why": (*OWN, "scene"), "Databases": OWN, "Time": (*OWN, "timeline")}


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


# --- the first screen of a site


#: Screens on which the site is opened: name -> width and height, pixels.
SCREENS = {"desktop": (1440, 900), "phone": (420, 900)}
#: Notes when the game can be played first, ms from the navigation.
PLAYABLE = """
  const look = () => {
    if (document.querySelector(".hsd-gm-choice")) globalThis.playable = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""
ENTRIES = """[
  ...performance.getEntriesByType("navigation"),
  ...performance.getEntriesByType("resource"),
].map((entry) => [new URL(entry.name).pathname.slice(1), entry.decodedBodySize])"""


def first(browser: Browser, repeats: int) -> dict[str, Any]:
    """Visits of a built site with an empty cache: the first paint, the game that can be played, and
    the bytes of all that the first screen requests, as they are and compressed, as static hosts
    send them.
    """
    visits: dict[str, list[dict[str, float]]] = {name: [] for name in SCREENS}
    with tempfile.TemporaryDirectory() as place:
        build(Path(place) / "site")
        with folder_server(Path(place) / "site") as url:
            for _ in range(repeats):
                for name, size in SCREENS.items():
                    visits[name].append(first_visit(browser, url, Path(place) / "site", size))
    print(f"{'first screen of the site':<28}{'median':>8}{'least':>8}{'most':>8}")
    for name, all_ in visits.items():
        for what in all_[0]:
            values = [visit[what] for visit in all_]
            row = f"{median(values):8.0f}{min(values):8.0f}{max(values):8.0f}"
            print(f"  {name + ': ' + what:<26}{row}")
    medians = {}
    for name, all_ in visits.items():
        medians[name] = medians_of(all_)
    return {"visits": visits, "medians": medians}


def first_visit(
    browser: Browser, url: str, folder: Path, size: tuple[int, int]
) -> dict[str, float]:
    """One visit, until the network is idle."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_init_script(PLAYABLE)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto(url)
        page.wait_for_selector(".hsd-gm-choice")
        page.wait_for_load_state("networkidle")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        playable = page.evaluate("globalThis.playable")
        entries = page.evaluate(ENTRIES)
    finally:
        context.close()
    compressed = 0
    for name, _ in entries:
        compressed += len(gzip.compress((folder / (name or "index.html")).read_bytes(), 6))
    return {
        "first paint, ms": paint,
        "can be played, ms": playable,
        "files": len(entries),
        "kB": sum(size for _, size in entries) / 1e3,
        "kB compressed": compressed / 1e3,
    }


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def folder_server(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of 127.0.0.1 and yield its address, which ends in a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def medians_of(rows: Sequence[dict], names: Iterable[str] | None = None) -> dict[str, float]:
    """Return the median of each value of rows; by default of all that the first row has."""
    medians = {}
    for name in names or rows[0]:
        medians[name] = median(row[name] for row in rows)
    return medians


# --- opening


def load(browser: Browser, repeats: int) -> dict[str, Any]:
    """Visits with an empty browser cache, of kernels started for the visit and of kernels that
    waited for it, turn by turn.
    """
    visits: dict[str, list[dict[str, float]]] = {"cold": [], "preheated": []}
    sizes: dict[str, Any] = {}
    memory = 0
    with serving() as cold, serving(preheat=True) as heated:
        servers = {"cold": cold, "preheated": heated}
        for _ in range(repeats):
            for kind, server in servers.items():
                rest(*servers.values())
                kernels = psutil.Process(heated.pid).children(recursive=True)
                if kind == "preheated":
                    for kernel in kernels:
                        memory = max(memory, kernel.memory_info().rss)
                with opened(browser, server.url) as page:
                    visits[kind].append(arrival(page))
                    sizes[kind] = weight(page, visits[kind][-1]["the trace"])
    print(f"{'opening the page, ms':<28}{'median':>8}{'least':>8}{'most':>8}")
    for kind, all_ in visits.items():
        for what in all_[0]:
            values = [visit[what] for visit in all_]
            spread = f"{median(values):8.0f}{min(values):8.0f}{max(values):8.0f}"
            print(f"  {kind + ': ' + what:<26}{spread}")
    print(f"{'bytes until the trace shows':<28}{'kB':>8}{'files':>8}")
    for what, (size, count) in sorted(sizes["cold"].items(), key=lambda row: -row[1][0]):
        print(f"  {what:<26}{size / 1000:8.0f}{count:8d}")
    sums = {"own": 0, "all": 0}
    for what, (size, _) in sizes["cold"].items():
        sums["all"] += size
        if what in OURS:
            sums["own"] += size
    for what, size in sums.items():
        print(f"  {what:<26}{size / 1000:8.0f}")
    print(f"a waiting kernel: {memory / 1e6:.0f} MB")
    medians = {kind: medians_of(all_) for kind, all_ in visits.items()}
    found = {"bytes_and_files": sizes, "bytes": sums, "waiting_kernel_bytes": memory}
    return {"milliseconds": visits, "medians": medians, **found}


def arrival(page: Page) -> dict[str, float]:
    """When what was first painted, ms from the navigation, and when the server had sent the
    page.
    """
    page.wait_for_function("hsdMeasure.whole() && Object.values(hsdMeasure.seen).every(Boolean)")
    seen = page.evaluate("hsdMeasure.seen")
    something = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    sent = page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd")
    return {"something": something, "page sent": sent, **seen}


def weight(page: Page, until: float) -> dict[str, tuple[int, int]]:
    """Bytes over the wire (headers too) and the number of files or messages, by kind, of what came
    before ``until`` (ms).
    """
    entries = page.evaluate(
        "[...performance.getEntriesByType('navigation'), "
        "...performance.getEntriesByType('resource')]"
        ".map((e) => [new URL(e.name).pathname, e.transferSize, e.responseEnd])"
    )
    messages = page.evaluate(
        "hsdMeasure.traffic.map(([at, bytes, sent]) => "
        "[sent ? 'websocket, sent' : 'websocket, received', bytes, at])"
    )
    sums: dict[str, tuple[int, int]] = {}
    loaded = [(kind_of(path), size, at) for path, size, at in entries]
    for name, size, at in [*loaded, *messages]:
        if at <= until:
            total, count = sums.get(name, (0, 0))
            sums[name] = (total + int(size), count + 1)
    return sums


def kind_of(path: str) -> str:
    """What a file is, by its address."""
    name = path.rpartition("/")[2]
    if not name:
        return "page"
    if "/labextensions/" in path:
        *_, extension = path.partition("/labextensions/")
        return f"scripts of {extension.partition('/static')[0]}"
    kinds = {
        "js": "scripts of Voilà",
        "css": "style sheets",
        "woff": "fonts",
        "woff2": "fonts",
        "ttf": "fonts",
    }
    return kinds.get(name.partition("?")[0].rpartition(".")[2], "other")


#: What of it this project sends: the page, and messages, in which its one module and the run are.
OURS = ("page", "websocket, received", "websocket, sent")


def rest(*servers: Server) -> None:
    """Wait until the servers and their kernels have nothing to do: kernels that wait for
    visitors are ready then.
    """
    quiet = 0
    until = time.monotonic() + PATIENCE / 1000
    while quiet < 3 and time.monotonic() < until:
        before = sum(map(_spent, servers))
        time.sleep(0.5)
        quiet = quiet + 1 if sum(map(_spent, servers)) - before < 0.05 else 0


def _spent(server: Server) -> float:
    """Processor seconds of a server and its kernels."""
    total = 0.0
    main_ = psutil.Process(server.pid)
    for process in (main_, *main_.children(recursive=True)):
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


# --- keys


def keys(browser: Browser, repeats: int) -> dict[str, Any]:
    """Open a trace of ``TOKENS`` tokens from a file; then from a key to the painted frame that
    shows it.
    """
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        trace = long_trace(STACK, TOKENS)
        file = Path(folder) / "long.json.gz"
        trace.save(file)
        with opened(browser, server.url, newcomer=False) as page:
            arrival(page)
            opening = [taken(page, file, len(trace)) for _ in range(repeats + 1)][1:]
            found = walked(page, len(trace), 8 * repeats)
    print(f"{f'of {TOKENS} tokens, ms':<32}{'times':>6}{'median':>8}{'worst':>8}")
    for view, values in {"opening": opening, **found}.items():
        print(f"  {view:<30}{len(values):6d}{median(values):8.0f}{max(values):8.0f}")
    return {
        "stack": STACK,
        "tokens": TOKENS,
        "rounds": len(trace.round_rows),
        "opening": opening,
        "milliseconds": found,
        "medians": {view: median(values) for view, values in found.items()},
    }


def taken(page: Page, file: Path, tokens: int) -> float:
    """Open a trace on the page; return the ms from the choice of the file until its text is
    painted.
    """
    page.evaluate("(tokens) => hsdMeasure.open(tokens)", tokens)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a trace").click()
    chooser.value.set_files(file)
    page.wait_for_function("hsdMeasure.took")
    page.wait_for_timeout(1000)
    return page.evaluate("hsdMeasure.took")


def walked(page: Page, tokens: int, presses: int) -> dict[str, list[float]]:
    """Press keys on each tab: by view, what each key took that changed it, ms."""
    found: dict[str, list[float]] = {}
    for tab, views in TABS.items():
        page.get_by_role("tab", name=tab, exact=True).click()
        page.wait_for_timeout(2000)
        page.mouse.move(2, 2)
        page.locator(".hsd-out").focus()
        page.evaluate(
            "async () => {"
            " for (const m of hsd_viz.values()) hsdMeasure.groups = (await m).groups; "
            "}"
        )
        page.evaluate("([tokens, views]) => hsdMeasure.listen(tokens, views)", [tokens, views])
        for number in range(presses):
            for view, ms in press(page, KEYS[number % len(KEYS)]).items():
                found.setdefault(f"{view} ({tab})" if view in OWN else view, []).append(ms)
        page.evaluate("hsdMeasure.deaf()")
    return found


def press(page: Page, key: str) -> dict[str, float]:
    """Press a key and wait for all views; what each took, ms. A view that had nothing to change
    is left out.
    """
    page.keyboard.press(key)
    try:
        page.wait_for_function("hsdMeasure.settled()", timeout=5000)
    except Exception as error:
        raise RuntimeError(
            f"not every view followed {key}: {page.evaluate('hsdMeasure.key()')}"
        ) from error
    page.wait_for_timeout(80)
    return page.evaluate("hsdMeasure.key().ms")


# --- live runs


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
        rates = f"{m['watched']:9.0f}{m['alone']:9.0f}{m['ratio']:7.3f}{m['ratio_processor']:8.3f}"
        lags = f"{m['lag_ms']:8.0f}{m['worst_lag_ms']:7.0f}"
        print(f"  {run.words:<30}{rates}{m['updates_per_second']:10.1f}{lags}")
    return {"runs": runs, "medians": medians}


def notebook(folder: Path) -> Path:
    """A notebook with the dashboard of measure_live.py."""
    source = (
        f"import sys\n\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from tools.measure_live import paired_dashboard\n\npaired_dashboard()"
    )
    cell = {
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


def followed(page: Page, run: Run, rates: Path) -> dict[str, Any]:
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
    before = len(rates.read_text().splitlines())
    page.get_by_role("button", name="Run", exact=True).click()
    until = time.monotonic() + PATIENCE / 1000
    while len(lines := rates.read_text().splitlines()) == before:
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


# --- pages


@contextmanager
def opened(browser: Browser, url: str, *, newcomer: bool = True) -> Iterator[Page]:
    """A page in a browser of its own: nothing is in its cache. A newcomer sees the introduction."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    context.add_init_script(
        SCRIPT if newcomer else f"localStorage.setItem('hsd_viz.game', 'yes');\n{SCRIPT}"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto(url, wait_until="commit")
        yield page
    finally:
        context.close()


if __name__ == "__main__":
    main()
