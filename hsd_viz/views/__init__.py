"""Widgets and figures over traces. Never imports torch.

``TokenStream(trace)`` is a widget; the functions of :mod:`hsd_viz.views.charts` return plotly figures, which :func:`show` puts into
a notebook without any button that would send them elsewhere.
"""

from hsd_viz.views import charts
from hsd_viz.views.chartbox import show
from hsd_viz.views.stream import TokenStream

__all__ = ["TokenStream", "charts", "show"]
