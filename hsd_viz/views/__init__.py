"""Widgets and figures of traces and of the latency law. Never imports torch.

``TokenStream(trace)`` is a widget, as are ``Staircase``, ``RoundInspector``, ``DraftGame``,
``Timeline``, ``LocalityMap`` and ``Panels``; :func:`link` joins views of one run, which then share
a cursor. ``Versus(traces)`` compares two or three runs of one prompt side by side.
``Chart(figures.ranking(plan))`` shows a figure of :mod:`hsd_viz.figures` in the page's theme.
:class:`HierarchyGraph` and :class:`OneDraftWhatIf` take a calibration, such as that of
:func:`recorded`. :class:`RuleLab` compares verification rules on one draft.

Every view takes a trace or the path of its file, and rejects unknown options. Its method
``save("x.html")`` also writes ``.png`` and ``.pdf`` (charts also ``.svg``), and ``to_html()``
returns a page. :func:`compose` arranges views and figures in a grid. :func:`register` adds a tab
to the dashboard, as does an entry point of the group ``hsd_viz.views``.

Names load when they are first used, so that the Voilà server can import :mod:`hsd_viz.views.app`
without the widgets.
"""

from hsd_viz.names.lazy import lazily

_NAMES = {
    ".export": ("run_page",),
    "hsd_viz.latency.basis": ("Basis", "basis_of", "recorded"),
    "hsd_viz.results.estimate": ("Estimate",),
    ".linked": (
        *("DraftGame", "LinkedView", "LocalityMap", "Panels", "RoundInspector", "Staircase"),
        *("Timeline", "TokenStream", "Versus", "link", "overview"),
    ),
    ".single": ("HierarchyGraph", "OneDraftWhatIf", "RuleLab"),
    ".opened": ("run_of_file",),
    ".view": ("Chart", "compose", "register", "show_figure", "unregister"),
}
__getattr__, __dir__, __all__ = lazily(__name__, _NAMES)
