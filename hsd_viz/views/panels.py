"""Small tables with bars, side by side, each with a definition and a text for the empty case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import anywidget
import traitlets

from hsd_viz.figures.panels import Panel
from hsd_viz.views.scripts import joined


class Panels(anywidget.AnyWidget):
    """Panels in a grid, below a line of ``terms``: (label, value, definition). Definitions show on hover or focus."""

    _esm = joined("dom.js", "tip.js", "panels.js")
    _css = joined("tip.css", "panels.css")

    panels = traitlets.List().tag(sync=True)
    terms = traitlets.List().tag(sync=True)

    def __init__(self, panels: Sequence[Panel] = ()) -> None:
        super().__init__()
        self.show(panels)

    def show(self, panels: Sequence[Panel]) -> None:
        """Replace the panels."""
        self.panels = [_plain(asdict(panel)) for panel in panels]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
