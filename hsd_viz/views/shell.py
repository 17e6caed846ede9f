"""The page's header, and the style sheet of the whole dashboard."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC, joined


class Header(anywidget.AnyWidget):
    """The name and one line of explanation. Brings the dashboard's style sheet, and what holds on paper and with colours forced."""

    _esm = STATIC / "header.js"
    _css = joined("dashboard.css", "tip.css", "paper.css")


def header() -> Header:
    """The header of the dashboard."""
    return Header()
