"""plotly's script for a page (a build with the cartesian charts, or all of it), and pictures of a
page by Chromium.
"""

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

from hsd_viz.errors import UserError
from hsd_viz.figures.theme import chromium

if TYPE_CHECKING:
    import plotly.graph_objects as go

CARTESIAN = "cartesian"
WHOLE = "whole"
_FILE = Path(__file__).with_name("plotly.js.gz")
#: Charts of the cartesian build.
_TYPES = {
    "bar",
    "box",
    "contour",
    "heatmap",
    "histogram",
    "histogram2d",
    "image",
    "pie",
    "scatter",
    "violin",
}
SECONDS = 60
#: Views that are drawn as SVG; the others are HTML.
DRAWN = {"locality_map", "panels", "staircase", "timeline", "versus"}
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    # A picture is of the end of a motion.
    "--force-prefers-reduced-motion",
)


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


def check_drawn(title: str, views: list[str]) -> None:
    """

    Raises:
        UserError: if none of the views, by name, is drawn as SVG.
    """
    if not DRAWN & {*views}:
        raise UserError(
            f"{title} is drawn with HTML and has no vectors: save it as .png, .pdf or .html"
        )


def picture(page: str, ending: str, width: int, scale: float = 2.0) -> bytes:
    """Return a picture (``.png``, ``.pdf`` or ``.svg``) of a page whose script puts its height, for
    SVG the drawing of its charts, into ``<pre id="result">``.

    Raises:
        UserError: without a chart to draw.
        RuntimeError: without Chromium, or if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"made{ending}"
        (Path(folder) / "page.html").write_text(page, encoding="utf-8")
        dom = _run(folder, "--dump-dom", f"--window-size={width},1200")
        result = re.search(r'<pre id="result"[^>]*>(\d+|none|&lt;svg[^<]*)</pre>', dom)
        if result and ending == ".svg":
            if result[1] == "none":
                raise UserError("it has no chart that .svg could hold: use .png, .pdf or .html")
            return html.unescape(result[1]).encode()
        if result and ending == ".png":
            size = f"--window-size={width},{result[1]}", f"--force-device-scale-factor={scale:g}"
            _run(folder, f"--screenshot={file}", *size)
        elif result:
            _run(folder, f"--print-to-pdf={file}", "--no-pdf-header-footer")
        if not file.is_file():
            raise RuntimeError("Chromium could not draw the page: save as .html instead")
        return file.read_bytes()


def _run(folder: str, *flags: str) -> str:
    # The sandbox of Chromium does not work for root, as in a container; the page is our own.
    root = ("--no-sandbox",) if getattr(os, "geteuid", lambda: 1)() == 0 else ()
    profile = f"--user-data-dir={folder}/{uuid.uuid4().hex}"
    page = (Path(folder) / "page.html").as_uri()
    command = [chromium(), *_FLAGS, *root, profile, "--virtual-time-budget=8000", *flags, page]
    try:
        process = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(
            f"Chromium did not answer within {SECONDS} s: save as .html instead"
        ) from None
    return process.stdout.decode("utf-8", "replace")
