"""Opening the dashboard: when what is painted, and what is transferred."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from tools.browser import RunningServer, serving
from tools.measure_page.visits import PATIENCE, medians_of, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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
    measures = {"bytes_and_files": sizes, "bytes": sums, "waiting_kernel_bytes": memory}
    return {"milliseconds": visits, "medians": medians, **measures}


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
    loaded = [(kind_of(path), size, seconds) for path, size, seconds in entries]
    for name, size, seconds in [*loaded, *messages]:
        if seconds <= until:
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


def rest(*servers: RunningServer) -> None:
    """Wait until the servers and their kernels have nothing to do: kernels that wait for
    visitors are ready then.
    """
    quiet = 0
    until = time.monotonic() + PATIENCE / 1000
    while quiet < 3 and time.monotonic() < until:
        spent = sum(map(_spent, servers))
        time.sleep(0.5)
        quiet = quiet + 1 if sum(map(_spent, servers)) - spent < 0.05 else 0


def _spent(server: RunningServer) -> float:
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
