"""Accessible names for slider handles and read-outs, which ipywidgets leaves unnamed."""

from __future__ import annotations

import anywidget

from hsd_viz.views.scripts import STATIC


class Names(anywidget.AnyWidget):
    """An invisible widget that labels the sliders of its box."""

    _esm = STATIC / "names.js"
