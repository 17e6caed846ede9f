"""Widgets and figures over traces and over the latency law. Never imports torch.

``TokenStream(trace)`` is a widget, as are ``RoundInspector``, ``Timeline`` and ``Access``; views of one run joined by
:func:`link` follow one cursor. ``StackBlocks(text)`` edits a stack. ``Versus(traces)`` compares two or three runs of
one prompt side by side. The functions of :mod:`hsd_viz.views.charts` return plotly figures, which :func:`show` displays
in a notebook without any button that would upload them. The views of the law take a calibration, or what
:func:`recorded` estimates from the bundled recordings: :class:`HierarchyGraph`, :class:`LatencySurface`,
:class:`Ranking`, :class:`Levels`, and the sliders of :class:`OneDraftWhatIf` and :class:`SecondDraftWhatIf`. Drafting
from databases has :class:`LocalityMap` for one trace, and for measurements :class:`DatabaseAblation`,
:class:`OrderAblation`, :class:`CategoryBars`, :class:`LatencyAcceptance`, :class:`SpeedPlane` and
:class:`TemperatureCurves`.

Names load when they are first used, so that the Voilà server can import :mod:`hsd_viz.views.app` without the widgets.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "blocks": ("StackBlocks",),
    "chartbox": ("show",),
    "drafting_bars": ("CategoryBars", "DatabaseAblation", "OrderAblation"),
    "drafting_plane": ("LatencyAcceptance", "SpeedPlane", "TemperatureCurves"),
    "hierarchy": ("HierarchyGraph",),
    "latency_compare": ("Levels", "Ranking"),
    "latency_plot": ("LatencySurface",),
    "latency_sources": ("Basis", "Measured", "basis_of", "measured", "recorded"),
    "latency_whatif": ("OneDraftWhatIf", "SecondDraftWhatIf"),
    "linked": ("LinkedView", "link"),
    "locality_map": ("LocalityMap",),
    "run_views": ("Access", "Player", "RoundInspector", "Timeline"),
    "stream": ("TokenStream",),
    "versus": ("Versus",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted([*_MODULES, "charts"])


def __getattr__(name: str) -> Any:
    if name == "charts":
        return import_module("hsd_viz.views.charts")
    if name not in _MODULES:
        raise AttributeError(f"module 'hsd_viz.views' has no attribute {name!r}")
    return getattr(import_module(f"hsd_viz.views.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
