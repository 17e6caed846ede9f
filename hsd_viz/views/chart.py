"""A figure on a page: drawn by plotly, which a page loads once, in the page's theme."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from hsd_viz.figures.pictures import library_of, packed
from hsd_viz.figures.theme import CONFIG, checked_ending, dark_of, data_of, template
from hsd_viz.figures.theme import save as save_figure
from hsd_viz.views.view import WIDTH, View

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#2f81f7", "#db6d28", "#2da44e", "#a371f7", "#8b949e")
PLOTLY_MIME = "application/vnd.plotly.v1+json"


class Chart(View):
    """A figure of :mod:`hsd_viz.figures`, or another plotly figure.

    ``Chart(figures.ranking(plan))``: in the theme of the page, if the figure is one of ours made for a light page.
    ``chosen`` is the point (x, y) selected by click or Enter in figures for which this means something.
    """

    view = traitlets.Unicode("plot").tag(sync=True)

    #: The figure for a light page, and for a dark one (empty: the same).
    drawn = traitlets.Dict().tag(sync=True)
    dark = traitlets.Dict().tag(sync=True)
    # The view itself follows the width of its place.
    config = traitlets.Dict({**CONFIG, "responsive": False}).tag(sync=True)
    library = traitlets.Unicode().tag(sync=True)
    chosen = traitlets.List().tag(sync=True)

    def __init__(self, figure: go.Figure | None = None) -> None:
        super().__init__()
        self.figure = figure
        self.on_msg(self._on_message)
        if figure is not None:
            self.show(figure)

    def show(self, figure: go.Figure) -> None:
        """Replace the figure. May be called from any thread."""
        self.figure, plain = figure, data_of(figure)
        own = "head" in (plain["layout"].get("meta") or {})
        with self.hold_sync():
            self.library, self.drawn = library_of(figure), plain
            self.dark = data_of(dark_of(figure)) if own else {}

    def save(self, path: str | Path, *, dark: bool | None = None, width: int = WIDTH, scale: float = 2.0) -> Path:
        """Write the figure as ``.html``, ``.svg`` or ``.png``, and return the path; see :meth:`View.save`."""
        if self.figure is None or checked_ending(Path(path)) == ".html":
            return super().save(path, dark=dark, width=width, scale=scale)
        return save_figure(dark_of(self.figure) if dark else self.figure, path, width=width, scale=scale)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "library":
            self.send({"kind": "library"}, [packed(self.library)])


def show(figure: go.Figure) -> None:
    """Display a figure in a notebook cell through plotly's JupyterLab extension.

    A figure in plotly's default template gets the one of :mod:`hsd_viz.figures`.
    """
    import plotly.graph_objects as go
    import plotly.io as pio
    from IPython.display import display

    if figure.layout.template == pio.templates[pio.templates.default]:
        figure = go.Figure(figure).update_layout(template=template(), colorway=COLOURS)
    content = data_of(figure)
    data = {PLOTLY_MIME: {**content, "config": CONFIG}, "text/plain": str(content["layout"]["title"]["text"])}
    display(data, raw=True)


def figure_part(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as a part of an answer (``js/host.ts``)."""
    plain = data_of(figure)
    own = "head" in (plain["layout"].get("meta") or {})
    return {"kind": "figure", "figure": {"drawn": plain, "dark": data_of(dark_of(figure)) if own else {}}}
