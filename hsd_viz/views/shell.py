"""The page's header and the dashboard's style sheet."""

from __future__ import annotations

import traitlets

from hsd_viz.views.scripts import Part


class Header(Part):
    """Name, introduction, keys and lecture mode of a page whose run is in ``group``.

    Loads the style sheets of the dashboard, of print and of forced colours.
    """

    view = traitlets.Unicode("app").tag(sync=True)

    group = traitlets.Unicode().tag(sync=True)
    #: Whether the page has a form, and whether a run is in progress.
    form = traitlets.Bool(False).tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)
