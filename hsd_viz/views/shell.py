"""The page's header and the dashboard's style sheet."""

from __future__ import annotations

import anywidget
import traitlets

from hsd_viz.views.scripts import STATIC


class Header(anywidget.AnyWidget):
    """Name, introduction, keys and lecture mode of a page whose run is in ``group``.

    Loads the style sheets of the dashboard, of print and of forced colours.
    """

    _esm = STATIC / "app.js"
    _css = STATIC / "app.css"

    group = traitlets.Unicode().tag(sync=True)


def header(group: str = "") -> Header:
    """Return the dashboard's header."""
    return Header(group=group)
