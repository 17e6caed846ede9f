"""Figures inside a widget page, without a ``FigureWidget``.

A ``FigureWidget`` brings 5 MB of JavaScript over the websocket, costs the kernel seconds to build, and after a page reload shows
what its constructor was given. Here a figure is put, as plain data, into the ``outputs`` trait of an ``Output``: plotly's own
JupyterLab extension draws it (Voilà loads that anyway), a few kilobytes travel, and a reloaded page shows the latest figure. The
price is that a figure is drawn anew when it changes, so it changes when a run ends, not with every token.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from hsd_viz.views.charts import CONFIG

if TYPE_CHECKING:
    import plotly.graph_objects as go

PLOTLY_MIME = "application/vnd.plotly.v1+json"


def figure_output(figure: go.Figure) -> dict[str, Any]:
    """A figure as one notebook output."""
    content = json.loads(figure.to_json())
    return {
        "output_type": "display_data",
        "data": {PLOTLY_MIME: {**content, "config": CONFIG}, "text/plain": str(content["layout"]["title"]["text"])},
        "metadata": {},
    }


def _words_output(figure: go.Figure) -> dict[str, Any]:
    """What a figure shows, in words that are heard and not seen."""
    words = (figure.layout.meta or {}).get("words", str(figure.layout.title.text))
    data = {"text/html": f'<p class="hsd-heard">{html.escape(words)}</p>', "text/plain": words}
    return {"output_type": "display_data", "data": data, "metadata": {}}


class ChartBox(widgets.Output):
    """One figure on the page. :meth:`show` may be called from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("hsd-chart")

    def show(self, figure: go.Figure) -> None:
        """Draw a figure in place of the one before."""
        self.outputs = (figure_output(figure), _words_output(figure))

    def clear(self) -> None:
        """Draw nothing."""
        self.outputs = ()


def show(figure: go.Figure) -> None:
    """Display a figure in a notebook cell, drawn by plotly's JupyterLab extension, as the dashboard does."""
    from IPython.display import display

    output = figure_output(figure)
    display(output["data"], metadata=output["metadata"], raw=True)
