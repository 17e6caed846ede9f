"""Tabs: one visible panel, each filled when first opened."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import ipywidgets as widgets
import traitlets

from hsd_viz.views.notice import Notice
from hsd_viz.views.scripts import Part


class Panel(Protocol):
    """A tab: ``title``, the ``widget`` of its panel, and :meth:`open`, called when it is selected."""

    @property
    def title(self) -> str: ...

    @property
    def widget(self) -> widgets.Widget: ...

    def open(self) -> None: ...


class Strip(Part):
    """The tab strip; the browser switches panels without waiting for Python."""

    view = traitlets.Unicode("tabs").tag(sync=True)

    label = traitlets.Unicode().tag(sync=True)
    titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)


class Tabs(widgets.VBox):
    """``panels`` below a tab strip named ``label`` and the widgets ``above`` all of
    them. Errors of a panel's ``open`` are shown as a card.
    """

    def __init__(self, panels: Sequence[Panel], label: str, *above: widgets.Widget) -> None:
        self.panels = list(panels)
        # Runs end in their own thread, tabs are selected in the kernel's.
        self._lock = threading.RLock()
        self.strip = Strip(label=label, titles=[p.title for p in self.panels])
        self.notice = Notice()
        for place, panel in enumerate(self.panels):
            panel.widget.add_class("hsd-panel")
            panel.widget.add_class(f"hsd-panel-{place}")
        self.strip.observe(self.notice.guard(lambda _change: self.refresh()), "selected")
        super().__init__([self.strip, self.notice, *above, *(p.widget for p in self.panels)])
        self.add_class("hsd-explorer")

    @property
    def shown(self) -> Panel:
        """The selected panel."""
        return self.panels[min(max(0, self.strip.selected), len(self.panels) - 1)]

    def refresh(self) -> None:
        """Open the selected panel again after a change."""
        with self._lock:
            self.notice.clear()
            self.notice.guard(self.shown.open)()
