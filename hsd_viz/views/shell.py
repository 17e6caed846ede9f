"""The page's header, and the style sheet of the whole dashboard."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC


class Header(anywidget.AnyWidget):
    """The name and one line of explanation. Brings the dashboard's style sheet."""

    _esm = STATIC / "header.js"
    _css = STATIC / "dashboard.css"


def header() -> Header:
    """The header of the dashboard."""
    return Header()
