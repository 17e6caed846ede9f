"""Names for those who hear the page, of what ipywidgets leaves nameless: the handles of its sliders, and the figures beside them."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC


class Names(anywidget.AnyWidget):
    """Shows nothing: gives every slider in the box that it stands in the name that is written beside it."""

    _esm = STATIC / "names.js"
