"""What all figures share: their form, their hover text, and how they are saved."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio

from hsd_viz.figures.palette import INKS, KINDS
from hsd_viz.figures.theme import dark_of, save, template
from hsd_viz.names.hints import no_attribute
from hsd_viz.results.estimate import UNKNOWN, Estimate

INK = INKS[False]
#: Pixels of a bar with its gap.
STEP = 26
#: Pixels of the plot of a figure that has no height, and of the narrowest page that has such a
#: figure whole.
_HEIGHT = 300
MIN_WIDTH = 300
#: Colours of the lines and bars of a figure that names none.
COLOURS = [KINDS[kind].light for kind in ("database", "models", "both", "baseline", "plain")]
#: Hover text: the whole ``customdata`` of a point, and its first value (of plotly express).
HOVER = "%{customdata}<extra></extra>"
FIRST_HOVER = "%{customdata[0]}<extra></extra>"


class Figure(go.Figure):
    """A plotly figure with a method that writes it to a file."""

    def save(self, path: str | Path, *, width: int = 900, scale: float = 2.0) -> Path:
        """Write the figure as ``.html``, ``.svg``, ``.png`` or ``.pdf``; see
        :func:`hsd_viz.figures.save`.
        """
        return save(self, path, width=width, scale=scale)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            no_attribute(self, name, "figure")


def finish(
    figure: go.Figure,
    title: str,
    *,
    text: str = "",
    note: str = "",
    table: Sequence[Sequence[Any]] = (),
    dark: bool = False,
    height: int = 300,
) -> Figure:
    """Return a figure in the common form: ``height`` is that of the plot with its axes. ``text``
    says what is shown, ``note`` where it comes from, ``table`` has all values (head first). A page
    reads them in ``layout.meta`` and writes its own heading in the ``head`` pixels above.
    """
    notes = textwrap.wrap(plain(note), 104)
    head = 44 + 16 * len(notes) + (10 if notes else 0)
    meta: dict[str, Any] = {"title": title, "text": text, "note": note, "head": head}
    meta |= figure.layout.meta or {}
    if table:
        meta["table"] = [list(map(str, row)) for row in table]
    bottom_margin = 56 + 20 * _legend_lines(figure)
    # Titles of panels are above the plot.
    panel_titles = 22 if figure.layout.annotations else 0
    finished = Figure(figure).update_layout(
        template=template(),
        title={"text": plain(title), "subtitle": {"text": "<br>".join(notes)}},
        margin={"t": head + panel_titles, "b": bottom_margin, "r": figure.layout.margin.r},
        height=height + head + panel_titles + bottom_margin - 56,
        legend={"title": {"text": ""}},
        meta=meta,
    )
    return dark_of(finished) if dark else finished


def in_common_form(figure: go.Figure) -> go.Figure:
    """Return a figure of plotly's default template in the common form, one of this package or of
    another template as it is.
    """
    if figure.layout.template != pio.templates[pio.templates.default]:
        return figure
    figure = go.Figure(figure)
    title = figure.layout.title.text or ""
    height = figure.layout.height or _HEIGHT
    figure.layout.legend = None
    figure.update_layout(colorway=COLOURS, meta={"least": MIN_WIDTH})
    return finish(figure, title, height=height)


def _legend_lines(figure: go.Figure) -> int:
    """Return the lines of the legend, by the names of the traces that it lists."""
    width = 0.0
    for trace in figure.data:
        if trace.name and trace.showlegend is not False:
            width += 44 + 6.6 * len(trace.name)
    return math.ceil(width / 680)


def plain(text: object) -> str:
    """Escape text for plotly, which reads a little HTML in every label."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;")


def between(low: float | None, high: float | None, form: str = "{:.3g}") -> str:
    """Return the interval of a row of a frame as text; "–" without one."""
    if pd.isna(low) or pd.isna(high):
        return UNKNOWN.span(form)
    return Estimate(low=low, high=high).span(form)
