"""Widgets and figures over traces and over the latency law. Never imports torch.

``TokenStream(trace)`` is a widget, and so are ``RoundInspector``, ``Timeline`` and ``Access``; views of one run that :func:`link` puts
together follow one cursor. ``StackBlocks(text)`` is a stack to build by hand. ``Versus(traces)`` lays two or three runs of one prompt
side by side. The functions of :mod:`hsd_viz.views.charts` return plotly figures, which :func:`show` puts into a notebook without any
button that would send them elsewhere. The views of the law take a calibration, or what :func:`recorded` estimates from the recordings of
this package: :class:`HierarchyGraph`, :class:`LatencySurface`, :class:`Ranking`, :class:`Levels`, and the sliders of
:class:`OneDraftWhatIf` and :class:`SecondDraftWhatIf`. Drafting from databases has :class:`LocalityMap` for one trace, and for
measurements :class:`DatabaseAblation`, :class:`OrderAblation`, :class:`CategoryBars`, :class:`LatencyAcceptance`, :class:`SpeedPlane`
and :class:`TemperatureCurves`.
"""

from hsd_viz.views import charts
from hsd_viz.views.access import Access
from hsd_viz.views.blocks import StackBlocks
from hsd_viz.views.chartbox import show
from hsd_viz.views.drafting_bars import CategoryBars, DatabaseAblation, OrderAblation
from hsd_viz.views.drafting_plane import LatencyAcceptance, SpeedPlane, TemperatureCurves
from hsd_viz.views.hierarchy import HierarchyGraph
from hsd_viz.views.inspector import RoundInspector
from hsd_viz.views.latency_compare import Levels, Ranking
from hsd_viz.views.latency_plot import LatencySurface
from hsd_viz.views.latency_sources import Basis, Measured, basis_of, measured, recorded
from hsd_viz.views.latency_whatif import OneDraftWhatIf, SecondDraftWhatIf
from hsd_viz.views.linked import LinkedView, link
from hsd_viz.views.locality_map import LocalityMap
from hsd_viz.views.player import Player
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.timeline import Timeline
from hsd_viz.views.versus import Versus

__all__ = [
    "Access",
    "Basis",
    "CategoryBars",
    "DatabaseAblation",
    "HierarchyGraph",
    "LatencyAcceptance",
    "LatencySurface",
    "Levels",
    "LinkedView",
    "LocalityMap",
    "Measured",
    "OneDraftWhatIf",
    "OrderAblation",
    "Player",
    "Ranking",
    "RoundInspector",
    "SecondDraftWhatIf",
    "SpeedPlane",
    "StackBlocks",
    "TemperatureCurves",
    "Timeline",
    "TokenStream",
    "Versus",
    "basis_of",
    "charts",
    "link",
    "measured",
    "recorded",
    "show",
]
