"""Tabs: panels of which one shows, each filled when it is first opened."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import anywidget
import ipywidgets as widgets
import traitlets

from hsd_viz.views.notice import Notice
from hsd_viz.views.scripts import STATIC


class Panel(Protocol):
    """What a tab shows: its ``title``, the ``widget`` of its panel, and :meth:`open`, called each time that it comes to the front."""

    title: str
    widget: widgets.Widget

    def open(self) -> None: ...


class Strip(anywidget.AnyWidget):
    """The tabs themselves; the browser shows the chosen panel without waiting for Python."""

    _esm = STATIC / "tabs.js"

    label = traitlets.Unicode().tag(sync=True)
    titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)


class Tabs(widgets.VBox):
    """``panels`` behind a strip of tabs that ``label`` names. Whatever a panel raises when it opens shows as a card above it."""

    def __init__(self, panels: Sequence[Panel], label: str) -> None:
        self.panels = list(panels)
        # Runs end in their own thread, tabs are chosen in the kernel's.
        self._lock = threading.RLock()
        self.strip = Strip(label=label, titles=[p.title for p in self.panels])
        self.notice = Notice()
        for place, panel in enumerate(self.panels):
            panel.widget.add_class("hsd-panel")
            panel.widget.add_class(f"hsd-panel-{place}")
        self.strip.observe(self.notice.guard(lambda _change: self.refresh()), "selected")
        super().__init__([self.strip, self.notice, *(p.widget for p in self.panels)])
        self.add_class("hsd-explorer")

    @property
    def shown(self) -> Panel:
        """The panel in front."""
        return self.panels[min(max(0, self.strip.selected), len(self.panels) - 1)]

    def refresh(self) -> None:
        """Open the panel in front once more: what it shows may have changed."""
        with self._lock:
            self.notice.clear()
            self.notice.guard(self.shown.open)()
