"""Widgets and figures over traces and over the latency law. Never imports torch.

``TokenStream(trace)`` is a widget, as are ``RoundInspector``, ``Timeline`` and ``Access``; views of one run joined by
:func:`link` follow one cursor. ``StackBlocks(text)`` edits a stack. ``Versus(traces)`` compares two or three runs of
one prompt side by side. :func:`show` displays a figure of :mod:`hsd_viz.figures` in a notebook without any button that
would upload it. The views of the law take a calibration, or what :func:`recorded` estimates from the bundled
recordings: :class:`HierarchyGraph`, :class:`LatencySurface`, :class:`Ranking`, :class:`Levels`, and the sliders of
:class:`OneDraftWhatIf` and :class:`SecondDraftWhatIf`. Drafting from databases has :class:`LocalityMap` for one trace,
and for measurements :class:`DatabaseAblation`, :class:`OrderAblation`, :class:`CategoryBars`,
:class:`LatencyAcceptance`, :class:`SpeedPlane` and :class:`TemperatureCurves`.

Every view has ``save("x.html")``, ``save("x.svg")``, ``save("x.png")`` and ``to_html()``, takes a trace or the path of
its file, and rejects unknown options. :func:`compose` arranges views and figures in a grid; :func:`register` adds a tab
to the dashboard, as does an entry point of the group ``hsd_viz.views``.

Names load when they are first used, so that the Voilà server can import :mod:`hsd_viz.views.app` without the widgets.
"""

import warnings
from importlib import import_module
from typing import Any

_NAMES = {
    "blocks": ("StackBlocks",),
    "chartbox": ("show",),
    "composition": ("compose", "overview"),
    "drafting_bars": ("CategoryBars", "DatabaseAblation", "OrderAblation"),
    "drafting_plane": ("LatencyAcceptance", "SpeedPlane", "TemperatureCurves"),
    "hierarchy": ("HierarchyGraph",),
    "latency_compare": ("Levels", "Ranking"),
    "latency_plot": ("LatencySurface",),
    "hsd_viz.figures.latency_sources": ("Basis", "Measured", "basis_of", "measured", "recorded"),
    "latency_whatif": ("OneDraftWhatIf", "SecondDraftWhatIf"),
    "linked": ("LinkedView", "link"),
    "locality_map": ("LocalityMap",),
    "registry": ("register", "unregister"),
    "run_views": ("Access", "Player", "RoundInspector", "Timeline"),
    "standalone": ("run_page",),
    "stream": ("TokenStream",),
    "versus": ("Versus",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name == "charts":
        words = "hsd_viz.views.charts is deprecated: use hsd_viz.figures"
        warnings.warn(words, DeprecationWarning, stacklevel=2)
        return import_module("hsd_viz.figures")
    if name not in _MODULES:
        raise AttributeError(f"module 'hsd_viz.views' has no attribute {name!r}")
    module = _MODULES[name]
    return getattr(import_module(module if "." in module else f"hsd_viz.views.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
