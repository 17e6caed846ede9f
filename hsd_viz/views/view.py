"""The base of all views: one widget class over the one module of ``js/``, with files and static HTML."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from hsd_viz.disk import write_whole
from hsd_viz.figures.palette import label
from hsd_viz.figures.pictures import result, screenshot
from hsd_viz.figures.theme import checked_ending, chromium
from hsd_viz.trace import Trace
from hsd_viz.views.page_data import BUNDLE, STATIC
from hsd_viz.words import card, did_you_mean, escape, line

_PACKED = gzip.compress(BUNDLE.encode("utf-8"), mtime=0)
#: Traits that are not options.
_INTERNAL = {"bundle", "data", "palette", "view", "runs", "titles", "sources", "choices"}
#: Width of a picture in CSS pixels, and tokens that a static form shows.
WIDTH, TOKENS = 960, 600
_VERDICTS = {
    "accepted": "text-decoration:underline",
    "correction": "outline:1px dashed",
    "bonus": "border-bottom:1px dotted",
}
_NOTE = "Static form of an interactive view: run the notebook to use it."


class _Bundle(widgets.Widget):
    """The packed module of all views, which a page gets once."""

    code = traitlets.Bytes(_PACKED).tag(sync=True)


_bundles: list[_Bundle] = []


def _bundle() -> _Bundle:
    if not _bundles or _bundles[0].comm is None:
        _bundles[:] = [_Bundle()]
    return _bundles[0]


class Part(anywidget.AnyWidget):
    """A widget drawn by the view named ``view`` of the one module (``js/views.ts``).

    A subclass with an ``_esm`` of its own is drawn by that.
    """

    _esm = (STATIC / "loader.js").read_text(encoding="utf-8")

    view = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Instance(widgets.Widget).tag(sync=True, **widgets.widget_serialization)

    def __init__(self, **options: Any) -> None:
        super().__init__(bundle=_bundle(), **options)
        self.on_msg(self._send_bundle)

    def _send_bundle(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Send the module to a page that does not have the model of the bundle."""
        if isinstance(content, dict) and content.get("kind") == "bundle":
            self.send({"kind": "bundle"}, [_PACKED])


class Exported:
    """Ways out of a view: :meth:`save`, :meth:`to_html`, and static HTML where widgets are not available."""

    def to_html(self, *, dark: bool | None = None) -> str:
        """Return the view as one page of HTML that opens offline and makes no network requests.

        ``dark`` selects the theme; ``None`` follows the browser. Controls that need Python are not included.
        """
        from hsd_viz.views.export import view_page

        return view_page(self, dark=dark)

    def save(self, path: str | Path, *, dark: bool | None = None, width: int = WIDTH, scale: float = 2.0) -> Path:
        """Write the view as ``.html`` (interactive) or ``.png``, and return the path; charts also as ``.svg``.

        PNG needs Chromium or Chrome (``$BROWSER_PATH`` names another one). ``width`` is in CSS pixels, ``scale`` the
        pixels of a PNG per CSS pixel. Raises: ValueError: for another ending. RuntimeError: without a browser.
        """
        from hsd_viz.views.export import view_page

        path = Path(path).expanduser()
        ending = checked_ending(path)
        if ending == ".html":
            write_whole(path, self.to_html(dark=dark))
            return path
        if ending == ".svg":
            raise ValueError(
                f"{type(self).__name__} is drawn with HTML and has no vectors: save it as .png "
                f"(scale={2 * scale:g} for print) or .html; charts (hsd.figures) are saved as .svg"
            )
        chromium()
        page = view_page(self, dark=bool(dark), then="height")
        write_whole(path, screenshot(page, width, int(result(page, width)), scale))
        return path

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Add static HTML to the widget, for pages without a kernel or scripts."""
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return bundle if data is None else ({**data, "text/html": f"{still(self)}{line(_NOTE)}"}, metadata)


class View(Exported, Part):
    """A public view. Options that it does not have are errors."""

    def __init__(self, **options: Any) -> None:
        check_options(type(self), options)
        super().__init__(**options)


def check_options(view: type, options: dict[str, Any]) -> None:
    """Check that a view has these options. Raises: TypeError: if it lacks one."""
    own = [name for base in view.__mro__ if issubclass(base, View) for name in base.class_own_traits()]
    known = {name for name in view.class_trait_names() if not name.startswith("_")}
    for name in options:
        if name not in known:
            allowed = ", ".join(sorted({n for n in own if n in known} - _INTERNAL)) or "none"
            close = did_you_mean(name, known)
            raise TypeError(f"{view.__name__} has no option '{name}': its options are {allowed}{close}")


# --- views without scripts --------------------------------------------------------------------------------------------


def still(view: Any) -> str:
    """Return what a static page can show of a view, as HTML: the text of a run, or the description of a chart."""
    trace = getattr(view, "trace", None)
    if isinstance(trace, Trace):
        return _tokens(trace) if hasattr(view, "ghosts") else trace._repr_html_()
    if drawn := getattr(view, "drawn", None):
        return _chart(drawn["layout"])
    if hasattr(view, "cols"):
        return "".join(map(still, view.children))
    facts = view.facts() if hasattr(view, "facts") else ""
    return card(type(view).__name__, "", *map(line, filter(None, [facts])))


def _chart(layout: Mapping[str, Any]) -> str:
    meta = layout.get("meta") or {}
    title = meta.get("title") or (layout.get("title") or {}).get("text") or "Figure"
    return card(title, "", line(meta.get("description", "")), line(meta.get("note") or ""))


def _tokens(trace: Trace) -> str:
    """Return the text with each token's verdict as its decoration and its source as its title."""
    about = lambda t: escape(f"{label(t.source)}, {t.kind}")
    spans = [
        f'<span style="{_VERDICTS.get(t.kind, "")}" title="{about(t)}">{escape(t.text)}</span>'
        for t in trace.token_rows[:TOKENS]
    ]
    more = f" … {len(trace) - TOKENS} more tokens" if len(trace) > TOKENS else ""
    key = "Underlined: accepted. Dashed frame: correction. Dotted: bonus. Plain: no draft."
    pre = f'<pre style="white-space:pre-wrap">{"".join(spans)}{escape(more)}</pre>'
    return card("Tokens", trace.stack or "?", pre, line(key))
