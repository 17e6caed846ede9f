"""The page's header and the dashboard's style sheet."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC, joined


class Header(anywidget.AnyWidget):
    """Name and introduction. Loads the style sheets of the dashboard, of print and of forced colours."""

    _esm = STATIC / "header.js"
    _css = joined("dashboard.css", "tip.css", "paper.css")


def header() -> Header:
    """Return the dashboard's header."""
    return Header()
