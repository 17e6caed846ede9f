"""Plotly figures in a widget page, without a ``FigureWidget``.

A ``FigureWidget`` sends 5 MB of JavaScript, takes seconds to build, and shows its initial figure after a page reload.
Here a figure is plain data in the ``outputs`` trait of an ``Output``, drawn by plotly's JupyterLab extension. A change
redraws the whole figure, so figures update at the end of a run, not per token."""

from __future__ import annotations

import html
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from hsd_viz.figures.style import CONFIG, template
from hsd_viz.figures.svg import COLOURS, svg

if TYPE_CHECKING:
    import plotly.graph_objects as go

PLOTLY_MIME = "application/vnd.plotly.v1+json"


def figure_output(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as a notebook output."""
    content = json.loads(figure.to_json())
    return {
        "output_type": "display_data",
        "data": {PLOTLY_MIME: {**content, "config": CONFIG}, "text/plain": str(content["layout"]["title"]["text"])},
        "metadata": {},
    }


def _words_output(figure: go.Figure) -> dict[str, Any]:
    """Return a hidden text description of a figure for screen readers."""
    words = (figure.layout.meta or {}).get("words", str(figure.layout.title.text))
    data = {"text/html": f'<p class="hsd-heard">{html.escape(words)}</p>', "text/plain": words}
    return {"output_type": "display_data", "data": data, "metadata": {}}


class ChartBox(widgets.Output):
    """A figure on the page. :meth:`show` may be called from any thread."""

    def __init__(self) -> None:
        super().__init__()
        #: The figure shown, if any.
        self.figure: go.Figure | None = None
        self.add_class("hsd-chart")

    def show(self, figure: go.Figure) -> None:
        """Replace the figure. The page's colour shows through it."""
        import plotly.graph_objects as go

        self.figure = figure
        figure = go.Figure(figure).update_layout(paper_bgcolor="rgba(0,0,0,0)")
        self.outputs = (figure_output(figure), _words_output(figure))

    def clear(self) -> None:
        """Remove the figure."""
        self.figure, self.outputs = None, ()


def show(figure: go.Figure) -> None:
    """Display a figure in a notebook cell through plotly's JupyterLab extension; as SVG where scripts do not run.

    A figure in plotly's default template gets the one of :mod:`hsd_viz.figures`.
    """
    import plotly.graph_objects as go
    import plotly.io as pio
    from IPython.display import display

    if figure.layout.template == pio.templates[pio.templates.default]:
        figure = go.Figure(figure).update_layout(template=template(), colorway=COLOURS)
    data = figure_output(figure)["data"]
    with suppress(ValueError):
        data["image/svg+xml"] = svg(figure)
    display(data, raw=True)
