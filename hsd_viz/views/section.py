"""The base class of a tab's panel, the page it is shown on, and the widgets that panels share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import ipywidgets as widgets

from hsd_viz.trace import Trace
from hsd_viz.views.controls import Prose


class Page(Protocol):
    """The page as sections see it: its ``trace`` (or ``None``), theme, and group of linked views."""

    trace: Trace | None

    @property
    def dark(self) -> bool: ...

    @property
    def group(self) -> str: ...


class Section:
    """A tab's panel: a description, then views.

    Subclasses :meth:`build` once and :meth:`fill` on changed dependencies.
    """

    title: ClassVar[str] = ""
    #: Description of the section and the provenance of its numbers.
    words: ClassVar[str] = ""
    #: Whether it shows the run on the page; else the page's player is hidden.
    follows: ClassVar[bool] = True

    def __init__(self, page: Page) -> None:
        self.page = page
        lede = Prose(self.words)
        lede.add_class("hsd-lede")
        self.widget = widgets.VBox([lede])
        #: Widgets that show the previous run while another is in progress.
        self.of_run: list[widgets.DOMWidget] = []
        self._built, self._filled, self._stale = False, (), False

    def open(self) -> None:
        """Build and fill the section as needed."""
        if not self._built:
            self.build()
            self._built = True
            self.stale(self._stale)
        state = self.depends_on()
        if self.page.trace is not None and not _same(state, self._filled):
            self.fill(self.page.trace)
            self._filled = state

    def stale(self, stale: bool) -> None:
        """Mark or unmark the run's widgets as showing the previous run."""
        self._stale = stale
        for widget in self.of_run:
            (widget.add_class if stale else widget.remove_class)("hsd-stale")

    def build(self) -> None:
        """Create the views."""

    def fill(self, trace: Trace) -> None:
        """Show a trace."""

    def depends_on(self) -> tuple:
        """Return objects whose identity decides when :meth:`fill` is called again."""
        return (self.page.trace,)

    def add(self, *more: widgets.Widget) -> None:
        """Append widgets to the panel."""
        self.widget.children = (*self.widget.children, *more)


def titled(text: str, *below: widgets.Widget) -> widgets.VBox:
    """Put widgets below a heading. ``text`` must be trusted HTML."""
    head = widgets.HTML(f"<h3>{text}</h3>")
    head.add_class("hsd-heading")
    box = widgets.VBox([head, *below])
    box.add_class("hsd-titled")
    return box


def menu(label: str, options: Sequence[tuple[str, Any]], value: Any) -> tuple[widgets.Dropdown, widgets.Box]:
    """Build a labelled menu; return it and its box."""
    dropdown = widgets.Dropdown(options=list(options), value=value, description=label)
    box = widgets.Box([dropdown])
    box.add_class("hsd-form")
    box.add_class("hsd-menu")
    return dropdown, box


def charts(*made: widgets.Widget) -> widgets.Box:
    """Put charts side by side; one alone has the whole width."""
    box = widgets.Box(list(made))
    box.add_class("hsd-charts")
    return box


def tried(make: Callable[[], widgets.Widget]) -> widgets.Widget:
    """Build a view, or a message if ``make`` raises ``ValueError``."""
    try:
        return make()
    except ValueError as error:
        return sentence(error)


def sentence(error: ValueError) -> Prose:
    """Return an error's message as a line of text."""
    said = str(error)
    return Prose(f"{said[:1].upper()}{said[1:]}{'' if said.endswith('.') else '.'}")


def refill(box: widgets.Box, new: Iterable[widgets.Widget]) -> None:
    """Replace and close the widgets of a box."""
    old = box.children
    box.children = tuple(new)
    for widget in old:
        close(widget)


def close(widget: widgets.Widget) -> None:
    """Close a widget and its children: the browser keeps open ones."""
    for child in getattr(widget, "children", ()):
        close(child)
    widget.close()


def _same(a: tuple, b: tuple) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
