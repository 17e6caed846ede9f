"""Statistical charts as functions that return ``plotly.graph_objects.Figure``. Never imports torch.

Every function takes ``dark`` (False: light) and uses one template (``hsd_light``, ``hsd_dark``), the colours of the
views, and patterns for verdicts; ``layout.meta`` has a title and a description for screen readers. A trace, a report or
a calibration can be given as an object or as the path of its file. Figures make no network requests:
``figure.write_html("x.html")`` includes plotly, and :func:`save` writes SVG and PNG.

One run: :func:`acceptance`, :func:`by_source`, :func:`time_spent`, :func:`throughput`, :func:`acceptance_by_position`,
:func:`accepted_per_round`, :func:`acceptance_by_source`, :func:`acceptance_by_match`, :func:`matched_keys`,
:func:`drafters_alone`. The latency law: :func:`latency_surface`, :func:`ranking`, :func:`levels`,
:func:`what_if_one_draft`, :func:`prediction`. Measurements: :func:`database_ablation`, :func:`by_category`,
:func:`temperature_curves`, :func:`speedup`, :func:`replayed`.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "drafting_bars": ("by_category", "database_ablation"),
    "latency_compare": ("levels", "ranking"),
    "latency_surfaces": ("latency_surface",),
    "latency_whatif": ("what_if_one_draft",),
    "pictures": ("save",),
    "predicted": ("prediction",),
    "run": (
        *("acceptance", "acceptance_by_match", "acceptance_by_position", "acceptance_by_source", "accepted_per_round"),
        *("by_source", "drafters_alone", "matched_keys", "throughput", "time_spent"),
    ),
    "speeds": ("replayed", "speedup"),
    "style": ("template",),
    "temperature": ("temperature_curves",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'hsd_viz.figures' has no attribute {name!r}")
    return getattr(import_module(f"hsd_viz.figures.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
