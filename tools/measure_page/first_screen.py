"""The first screen of a site."""

from __future__ import annotations

import gzip
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hsd_viz.views.site import build
from tools.measure_page.visits import PATIENCE, medians_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Screens on which the site is opened: name -> width and height, pixels.
SCREENS = {"desktop": (1440, 900), "phone": (420, 900)}
#: A word of a game that can be played; the first board, drawn with the page, is inert.
PLAYED = ".hsd-game:not([inert]) .hsd-gm-choice"
#: Notes when the game can be played first, ms from the navigation.
PLAYABLE = f"""
  const look = () => {{
    if (document.querySelector("{PLAYED}")) globalThis.playable = performance.now();
    else requestAnimationFrame(look);
  }};
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
        page.wait_for_selector(PLAYED)
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
