"""The page's header, and the style sheet of the whole dashboard."""

from __future__ import annotations

from pathlib import Path

import anywidget

_STATIC = Path(__file__).parent / "static"


class Header(anywidget.AnyWidget):
    """The name and one line of explanation. Brings the dashboard's style sheet."""

    _esm = _STATIC / "header.js"
    _css = _STATIC / "dashboard.css"


def header() -> Header:
    """The header of the dashboard."""
    return Header()
