"""Tabs of other packages: registered by name, or found by the entry point group ``hsd_viz.views``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import ipywidgets as widgets

from hsd_viz.trace import Trace
from hsd_viz.views.composition import as_widget
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.section import Page, Section, refill, tried

GROUP = "hsd_viz.views"
#: Makes a tab's content from a trace: a widget or a plotly figure.
Maker = Callable[..., Any]
_REGISTERED: dict[str, Maker] = {}


def register(name: str, cls: Maker) -> Maker:
    """Add a tab ``name`` to dashboards created from now on, and return ``cls``.

    ``cls(trace)`` returns a widget or a plotly figure; it is called for every run that the tab shows. A subclass of
    :class:`LinkedView` is created once and shares the page's run and cursor. A package adds a tab without this call by
    an entry point of the group ``hsd_viz.views``: the tab's name, and the class or function. The same name again
    replaces the tab. Raises: ValueError: for an empty name. TypeError: if ``cls`` cannot be called.
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


class RegisteredSection(Section):
    """The tab of a registered view. Errors of the view are shown in the tab."""

    words = "A view added by another package."

    def __init__(self, page: Page, title: str, load: Callable[[], Maker]) -> None:
        self.title = title  # type: ignore[misc]
        super().__init__(page)
        self.widget.add_class("hsd-part")
        self._load = load
        self._maker: Maker | None = None
        self.box = widgets.VBox()
        self.box.add_class("hsd-views")

    def build(self) -> None:
        self.of_run.append(self.box)
        self.add(self.box)

    def fill(self, trace: Trace) -> None:
        if self._shared() and self.box.children:
            return
        refill(self.box, [tried(lambda: self._make(trace))])

    def _shared(self) -> bool:
        return isinstance(self._maker, type) and issubclass(self._maker, LinkedView)

    def _make(self, trace: Trace) -> widgets.Widget:
        try:
            self._maker = self._maker or self._load()
            made = self._maker(group=self.page.group) if self._shared() else self._maker(trace)
            return as_widget(made)
        except Exception as error:  # of a third party: any error is shown in its tab
            raise ValueError(f"the view '{self.title}' failed: {type(error).__name__}: {error}") from error


def registered_sections(page: Page) -> list[Section]:
    """Return the sections of all registered tabs."""
    return [RegisteredSection(page, name, load) for name, load in registered().items()]
