"""The page's header and the dashboard's style sheet."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC


class Header(anywidget.AnyWidget):
    """Name and introduction. Loads the style sheets of the dashboard, of print and of forced colours."""

    _esm = STATIC / "app.js"
    _css = STATIC / "app.css"


def header() -> Header:
    """Return the dashboard's header."""
    return Header()
