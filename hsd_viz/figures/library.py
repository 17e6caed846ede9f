"""plotly's settings, and its script for pages as an ES module: a build with the cartesian charts, or all of plotly."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Plotly settings: no logo, and no button that uploads the figure.
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
}
CARTESIAN, WHOLE = "cartesian", "whole"
_FILE = Path(__file__).with_name("plotly.js.gz")
#: Charts of the cartesian build.
_TYPES = {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "image", "pie", "scatter", "violin"}


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
