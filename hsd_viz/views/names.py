"""Accessible names for slider handles and read-outs, which ipywidgets leaves unnamed."""

from __future__ import annotations

import traitlets

from hsd_viz.views.scripts import Part


class Names(Part):
    """An invisible widget that labels the sliders of its box."""

    view = traitlets.Unicode("names").tag(sync=True)
