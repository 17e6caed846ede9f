"""Statistical charts as functions that return ``plotly.graph_objects.Figure``. Never imports torch.

Every function takes ``dark`` (False: light) and uses one template (``hsd_light``, ``hsd_dark``), the colours of the
views, and patterns for verdicts; ``layout.meta`` has a title, a text and a table of all values. A trace, a report or a
calibration can be given as an object or as the path of its file. Figures make no network requests:
``figure.write_html("x.html")`` includes plotly, and :func:`save` writes SVG and PNG.

One run: :func:`acceptance`, :func:`by_source`; :class:`hsd_viz.views.Panels` has the others.
The latency law: :func:`ranking`, :func:`levels`, :func:`prediction`, :func:`when_it_pays`.
Measurements: :func:`speedup`, :func:`by_category`, :func:`database_ablation`, :func:`temperature_curves`.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "law": ("levels", "prediction", "ranking"),
    "pays": ("when_it_pays",),
    "reports": ("by_category", "database_ablation", "speedup", "temperature_curves"),
    "run": ("acceptance", "by_source"),
    "theme": ("dark_of", "save", "template"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'hsd_viz.figures' has no attribute {name!r}")
    return getattr(import_module(f"hsd_viz.figures.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
