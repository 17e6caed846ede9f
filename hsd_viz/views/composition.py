"""Views and figures side by side in one widget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ipywidgets as widgets

from hsd_viz.views.chart import Chart
from hsd_viz.views.doors import Doors, Given
from hsd_viz.views.run_views import RoundInspector, Staircase, Timeline
from hsd_viz.views.stream import TokenStream


class Composition(Doors, widgets.GridBox):
    """Views in a grid of ``cols`` columns; create it with :func:`compose`."""

    def __init__(self, children: Iterable[widgets.Widget], cols: int) -> None:
        self.cols = cols
        layout = widgets.Layout(grid_template_columns=f"repeat({cols}, minmax(0, 1fr))", grid_gap="24px")
        super().__init__(list(children), layout=layout)


def compose(parts: Iterable[Any], cols: int = 2) -> Composition:
    """Arrange views, widgets and plotly figures in a grid.

    Linked views keep their groups: pass them to :func:`link` to share one cursor. Raises: TypeError: for other parts.
    """
    if isinstance(cols, bool) or not isinstance(cols, int) or cols < 1:
        raise ValueError(f"cols={cols!r} is out of range: use a whole number from 1")
    found = [as_widget(part) for part in parts]
    if not found:
        raise ValueError("compose() needs at least one view")
    return Composition(found, cols)


def overview(trace: Given) -> Composition:
    """Return the text, staircase, rounds and timeline of a run, or of the path of its file, with one cursor."""
    stream = TokenStream(trace)
    return compose([stream, *(view(group=stream.group) for view in (Staircase, RoundInspector, Timeline))], cols=1)


def as_widget(part: Any) -> widgets.Widget:
    """Return a widget of a widget or a plotly figure. Raises: TypeError: for anything else."""
    if isinstance(part, widgets.Widget):
        return part
    if hasattr(part, "to_plotly_json"):
        return Chart(part)
    raise TypeError(f"expected a view, a widget or a plotly figure, not {type(part).__name__}")
