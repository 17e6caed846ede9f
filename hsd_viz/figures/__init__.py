"""Statistical charts as functions that return ``plotly.graph_objects.Figure``. Never imports torch.

Every function takes ``dark`` (False: light) and uses one template (``hsd_light``, ``hsd_dark``),
the colours of the views, and patterns for verdicts; ``layout.meta`` has a title, a text and a table
of all values. A trace, a report or a calibration can be given as an object or as the path of its
file. Figures make no network requests: ``figure.write_html("x.html")`` includes plotly, and
:func:`save` writes SVG, PNG and PDF.

One run: :func:`acceptance`, :func:`by_source`, :func:`findable`; :class:`hsd_viz.views.Panels` has
the others. The latency law: :func:`ranking`, :func:`levels`, :func:`prediction`,
:func:`when_it_pays`. Results: :func:`of_result` (``result.figure()``). Measurements:
:func:`speedup`, :func:`by_category`, :func:`database_ablation`, :func:`temperature_curves`.
"""

from hsd_viz.names.lazy import lazily

_NAMES = {
    ".ablations": ("database_ablation", "temperature_curves"),
    ".predictions": ("levels", "prediction", "ranking"),
    ".pays": ("when_it_pays",),
    ".reports": ("by_category", "speedup"),
    ".results": ("of_result",),
    ".run": ("acceptance", "by_source"),
    ".semantic": ("findable",),
    ".theme": ("dark_of", "save", "template"),
}
__getattr__, __dir__, __all__ = lazily(__name__, _NAMES)
