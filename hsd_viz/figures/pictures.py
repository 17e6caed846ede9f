"""plotly's script for a page (a build with the cartesian charts, or all of it), and pictures of a page by Chromium."""

from __future__ import annotations

import gzip
import html
import os
import re
import subprocess
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.figures.theme import chromium

if TYPE_CHECKING:
    import plotly.graph_objects as go

CARTESIAN, WHOLE = "cartesian", "whole"
_FILE = Path(__file__).with_name("plotly.js.gz")
#: Charts of the cartesian build.
_TYPES = {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "image", "pie", "scatter", "violin"}
SECONDS = 60
_FLAGS = ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking")


def library_of(figure: go.Figure) -> str:
    """Return the name of the smallest library that draws a figure."""
    return CARTESIAN if {trace.type for trace in figure.data} <= _TYPES else WHOLE


@cache
def packed(name: str) -> bytes:
    """Return a library as a gzip-compressed ES module, whose default export is plotly."""
    if name == CARTESIAN:
        return _FILE.read_bytes()
    from plotly.offline import get_plotlyjs

    return gzip.compress(f"{get_plotlyjs()}\nexport default globalThis.Plotly;".encode(), mtime=0)


def script(name: str) -> str:
    """Return the text of a library."""
    return gzip.decompress(packed(name)).decode()


def screenshot(page: str, width: int, height: int, scale: float = 2.0) -> bytes:
    """Return a PNG picture of an HTML page. Raises: RuntimeError: without Chromium, or if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "page.png"
        size = (f"--window-size={width},{height}", f"--force-device-scale-factor={scale:g}")
        _run(page, folder, f"--screenshot={picture}", *size)
        if not picture.is_file():
            raise RuntimeError("Chromium wrote no picture: save as .html instead")
        return picture.read_bytes()


def result(page: str, width: int) -> str:
    """Return the text that a page's script put into its element ``<pre id="result">``."""
    with tempfile.TemporaryDirectory() as folder:
        dom = _run(page, folder, "--dump-dom", f"--window-size={width},1200")
    found = re.search(r'<pre id="result"[^>]*>(.*?)</pre>', dom, re.S)
    if found is None:
        raise RuntimeError("Chromium could not draw the page: save as .html instead")
    return html.unescape(found[1])


def _run(page: str, folder: str, *flags: str) -> str:
    path = Path(folder) / "page.html"
    path.write_text(page, encoding="utf-8")
    # The sandbox of Chromium does not work for root, as in a container; the page is our own.
    root = ("--no-sandbox",) if getattr(os, "geteuid", lambda: 1)() == 0 else ()
    profile = f"--user-data-dir={folder}/{uuid.uuid4().hex}"
    command = [chromium(), *_FLAGS, *root, profile, "--virtual-time-budget=8000", *flags, path.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"Chromium did not answer within {SECONDS} s: save as .html instead") from None
    return done.stdout.decode("utf-8", "replace")
