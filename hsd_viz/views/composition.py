"""Views side by side in one widget, and tabs of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import Any

import ipywidgets as widgets

from hsd_viz.views.chart import Chart
from hsd_viz.views.linked import Given, RoundInspector, Staircase, Timeline, TokenStream
from hsd_viz.views.view import Exported

GROUP = "hsd_viz.views"
#: Makes a tab's content from a trace: a widget or a plotly figure.
Maker = Callable[..., Any]
_REGISTERED: dict[str, Maker] = {}


class Composition(Exported, widgets.GridBox):
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


def register(name: str, cls: Maker) -> Maker:
    """Add a tab ``name`` to dashboards created from now on, and return ``cls``.

    ``cls(trace)`` returns a widget or a plotly figure; it is called for every run that the tab shows. A linked view
    among them shares the page's run and cursor (:func:`hsd_viz.views.linked.link`) if its script joins the group of the
    page. A package adds a tab without this call by an entry point of the group ``hsd_viz.views``: the tab's name, and
    the class or function. The same name again replaces the tab. Raises: ValueError: for an empty name. TypeError: if
    ``cls`` cannot be called.
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"invalid name of a view: {name!r}, use a short text for its tab")
    if not callable(cls):
        raise TypeError(f"'{name}' cannot be registered: expected a class or a function of a trace, not {cls!r}")
    _REGISTERED[name.strip()] = cls
    return cls


def unregister(name: str) -> None:
    """Remove a registered tab; unknown names are ignored."""
    _REGISTERED.pop(name.strip(), None)


def registered() -> dict[str, Callable[[], Maker]]:
    """Return a loader for each tab: entry points, then registered ones, which replace them."""
    found: dict[str, Callable[[], Maker]] = {point.name: point.load for point in entry_points(group=GROUP)}
    return found | {name: (lambda cls=cls: cls) for name, cls in _REGISTERED.items()}
