"""The base class of a tab's panel, the page it is shown on, and the widgets that panels share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import ipywidgets as widgets

from hsd_viz.trace import Trace
from hsd_viz.views.controls import Prose


class Page(Protocol):
    """What sections know of the page: the ``trace`` on it (``None``: none yet), its theme, and the group of its linked views."""

    trace: Trace | None

    @property
    def dark(self) -> bool: ...

    @property
    def group(self) -> str: ...


class Section:
    """A panel: a sentence, then views. Subclasses :meth:`build` once, and :meth:`fill` whenever what they depend on has changed."""

    title: ClassVar[str] = ""
    #: What the section shows, and where its numbers come from.
    words: ClassVar[str] = ""
    #: Whether it shows the run on the page; else the page's player does not stand before it.
    follows: ClassVar[bool] = True

    def __init__(self, page: Page) -> None:
        self.page = page
        self.widget = widgets.VBox([Prose(self.words)])
        if not self.follows:
            self.widget.add_class("hsd-apart")
        self.widget.children[0].add_class("hsd-lede")
        #: What shows the run, and is of the run before while another goes on.
        self.of_run: list[widgets.DOMWidget] = []
        self._built, self._filled, self._stale = False, (), False

    def open(self) -> None:
        """Make what the section shows, as far as it is not there."""
        if not self._built:
            self.build()
            self._built = True
            self.stale(self._stale)
        state = self.depends_on()
        if self.page.trace is not None and not _same(state, self._filled):
            self.fill(self.page.trace)
            self._filled = state

    def stale(self, stale: bool) -> None:
        """Say of what shows the run that it is of the run before, or no longer so."""
        self._stale = stale
        for widget in self.of_run:
            (widget.add_class if stale else widget.remove_class)("hsd-stale")

    def build(self) -> None:
        """Make the views."""

    def fill(self, trace: Trace) -> None:
        """Show a trace."""

    def depends_on(self) -> tuple:
        """When any of these is another object, :meth:`fill` is called again."""
        return (self.page.trace,)

    def add(self, *more: widgets.Widget) -> None:
        """Put widgets at the end of the panel."""
        self.widget.children = (*self.widget.children, *more)


def titled(text: str, *below: widgets.Widget) -> widgets.VBox:
    """Widgets under a heading of their own. ``text`` is one of this package's own."""
    head = widgets.HTML(f"<h3>{text}</h3>")
    head.add_class("hsd-heading")
    box = widgets.VBox([head, *below])
    box.add_class("hsd-titled")
    return box


def menu(label: str, options: Sequence[tuple[str, Any]], value: Any) -> tuple[widgets.Dropdown, widgets.Box]:
    """A menu with its label, and the box to put on the page."""
    dropdown = widgets.Dropdown(options=list(options), value=value, description=label)
    box = widgets.Box([dropdown])
    box.add_class("hsd-form")
    box.add_class("hsd-menu")
    return dropdown, box


def tried(make: Callable[[], widgets.Widget]) -> widgets.Widget:
    """A view, or where it cannot be made of these data, the sentence that says why."""
    try:
        return make()
    except ValueError as error:
        return sentence(error)


def sentence(error: ValueError) -> Prose:
    """What an error says, as a sentence on the page."""
    said = str(error)
    return Prose(f"{said[:1].upper()}{said[1:]}{'' if said.endswith('.') else '.'}")


def refill(box: widgets.Box, new: Iterable[widgets.Widget]) -> None:
    """Put other widgets into a box, and let go of those that were there."""
    old = box.children
    box.children = tuple(new)
    for widget in old:
        close(widget)


def close(widget: widgets.Widget) -> None:
    """Close a widget and all in it: the browser keeps what is not closed."""
    for child in getattr(widget, "children", ()):
        close(child)
    widget.close()


def _same(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
