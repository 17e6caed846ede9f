"""The form that all figures share: one plotly template per theme, plotly's settings, and files."""

from __future__ import annotations

import json
import os
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.disk import write_whole
from hsd_viz.errors import UserError, first_line
from hsd_viz.figures.palette import INKS, TWINS
from hsd_viz.records.served import served_run
from hsd_viz.trace import Trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
#: Plotly settings: no logo, and no button that uploads the figure.
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
}
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
ENDINGS = (".html", ".svg", ".png", ".pdf")
#: A trace or the path of its file.
Given = Trace | str | Path


def as_trace(trace: Given) -> Trace:
    """Return a trace, loaded if ``trace`` is a path; of an imported one the run of its rounds.

    Raises:
        TypeError: for anything else.
        Unsupported: for an imported trace without rounds.
    """
    if isinstance(trace, str | Path):
        trace = Trace.load(Path(trace).expanduser())
    if not isinstance(trace, Trace):
        raise TypeError(f"expected a Trace or the path of its file, not {type(trace).__name__}")
    return served_run(trace) if "imported" in trace.meta else trace


@cache
def template(dark: bool = False) -> go.layout.Template:
    """Return the light or dark template; also registered as ``hsd_light`` and ``hsd_dark``."""
    import plotly.graph_objects as go
    import plotly.io as pio

    name = "hsd_dark" if dark else "hsd_light"
    inks = INKS[dark]
    line = {name: inks.grid for name in ("gridcolor", "linecolor", "zerolinecolor", "tickcolor")}
    axis = {**line, "automargin": True, "tickfont": {"color": inks.muted}}
    axis["title"] = {"font": {"size": 12, "color": inks.muted}, "standoff": 8}
    title = {
        "font": {"size": 16, "weight": 650},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
    }
    title |= {"subtitle": {"font": {"color": inks.muted, "size": 12}}, "pad": {"t": 12, "l": 8}}
    legend = {
        "orientation": "h",
        "x": 0,
        "xref": "container",
        "yref": "container",
        "y": 0,
        "yanchor": "bottom",
    }
    font = {"family": FONT, "size": 12, "color": inks.text}
    modebar = {"bgcolor": inks.page, "color": inks.muted, "activecolor": inks.text}
    pio.templates[name] = go.layout.Template(
        layout={
            "font": font,
            "title": title | {"yref": "container", "yanchor": "top"},
            "paper_bgcolor": inks.page,
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 8, "r": 16},
            "colorway": [inks.accent, inks.loss, inks.muted],
            "xaxis": axis,
            "yaxis": axis | {"ticklabelstandoff": 4},
            "bargap": 0.28,
            "hoverlabel": {"font": font, "bgcolor": inks.page, "bordercolor": inks.muted},
            "legend": legend | {"font": {"size": 12}, "maxheight": 0.9, "title": {"text": ""}},
            "modebar": modebar | {"remove": CONFIG["modeBarButtonsToRemove"]},
            "annotationdefaults": {"font": {"color": inks.text}, "showarrow": False},
        }
    )
    return pio.templates[name]


def data_of(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as JSON data; arrays are lists, which a page can read without decoding."""
    from plotly.utils import PlotlyJSONEncoder

    parts = {
        "data": [trace.to_plotly_json() for trace in figure.data],
        "layout": figure.layout.to_plotly_json(),
    }
    return json.loads(json.dumps(parts, cls=PlotlyJSONEncoder))


def dark_of(figure: go.Figure) -> go.Figure:
    """Return a figure of this package, drawn for a light page, with the template and the palette of
    a dark one.
    """
    plain = data_of(figure)
    plain["layout"].pop("template", None)
    text = json.dumps(plain)
    for light, dark in TWINS.items():
        text = text.replace(f'"{light}"', f'"{dark}"')
    return type(figure)(json.loads(text)).update_layout(template=template(dark=True))


def save(figure: go.Figure, path: str | Path, *, width: int = 900, scale: float = 2.0) -> Path:
    """Write a figure as ``.html`` (offline, interactive), ``.svg``, ``.png`` or ``.pdf`` and return
    the path. All but HTML need kaleido and Chromium or Chrome (``$BROWSER_PATH`` names another
    one). ``width`` is in CSS pixels.

    Raises:
        UserError: for another ending.
        RuntimeError: without kaleido or a browser.
    """
    path = Path(path).expanduser()
    if checked_ending(path) == ".html":
        write_whole(path, figure.to_html(include_plotlyjs=True, config=CONFIG))
        return path
    os.environ["BROWSER_PATH"] = chromium()
    try:
        figure.write_image(path, width=width, scale=scale)
    except ValueError as error:  # plotly's message where kaleido is missing
        raise RuntimeError(
            f"{first_line(error)}: pip install 'hsd-viz[pictures]', or save as .html"
        ) from None
    return path


def checked_ending(path: Path) -> str:
    """Return the ending of a file to save.

    Raises:
        UserError: unless it is one of :data:`ENDINGS`.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path.name} has no known ending: use .html, .svg, .png or .pdf")
    return ending


def chromium() -> str:
    """Return the path of Chromium or Chrome.

    Raises:
        RuntimeError: if none is installed.
    """
    configured = os.environ.get("BROWSER_PATH")
    candidates = (configured,) if configured else BROWSERS
    program = next(filter(None, map(shutil.which, candidates)), None)
    if program is None:
        problem = "no Chromium or Chrome was found"
        if configured:
            problem = f"BROWSER_PATH={configured} is not a program"
        raise RuntimeError(
            f"{problem}: SVG, PNG and PDF files need one (apt-get install chromium); "
            ".html files do not"
        )
    return program
