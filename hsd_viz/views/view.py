"""The base of all views: one widget class over the one module of ``js/``, charts, grids, files,
and tabs of others.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets as widgets
import traitlets

from hsd_viz.errors import UserError
from hsd_viz.figures.pictures import CARTESIAN, library_of, packed
from hsd_viz.figures.theme import CONFIG, dark_of, data_of
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.ranges import check_range
from hsd_viz.views.export import Exported
from hsd_viz.views.page_data import BUNDLE, STATIC

if TYPE_CHECKING:
    import plotly.graph_objects as go

_PACKED = gzip.compress(BUNDLE.encode("utf-8"), mtime=0)
#: Traits that are not options.
_INTERNAL = {"data", "palette", "runs", "titles", "sources"}


class _Bundle(widgets.Widget):
    """The packed module of all views, which a page gets once."""

    code = traitlets.Bytes(_PACKED).tag(sync=True)


_bundles: list[_Bundle] = []


class BundleWidget(anywidget.AnyWidget):
    """A widget drawn by the view named ``view`` of the one module (``js/views.ts``), or by an
    ``_esm`` of its own.
    """

    _esm = (STATIC / "loader.js").read_text(encoding="utf-8")

    view = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Instance(widgets.Widget).tag(
        sync=True,
        to_json=widgets.widget_serialization["to_json"],
        from_json=widgets.widget_serialization["from_json"],
    )

    def __init__(self, **options: Any) -> None:
        self._check_options(options)
        if not _bundles or _bundles[0].comm is None:
            _bundles[:] = [_Bundle()]
        super().__init__(bundle=_bundles[0], **options)
        self.on_msg(self._on_message)

    def _check_options(self, options: Mapping[str, Any]) -> None:
        """Check the names of the options before any is set: an internal widget takes each trait."""

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Send a module: plotly, or the one of all views to a page that does not have the model
        of the bundle.
        """
        if isinstance(content, dict) and (kind := content.get("kind")) in ("bundle", "library"):
            self.send(
                {"kind": kind},
                [_PACKED if kind == "bundle" else packed(getattr(self, "library", CARTESIAN))],
            )


class View(Exported, BundleWidget):
    """A public view. Options that it does not have are errors."""

    def _check_options(self, options: Mapping[str, Any]) -> None:
        known = {name for name in self.trait_names() if not name.startswith("_")}
        for name in options.keys() - known:
            allowed = (
                ", ".join(sorted(known - {*BundleWidget.class_trait_names()} - _INTERNAL)) or "none"
            )
            close = did_you_mean(name, known)
            raise TypeError(
                f"{type(self).__name__} has no option '{name}': its options are {allowed}{close}"
            )


def figure_part(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as a part of an answer (``js/host.ts``): data for a light page, and for a
    dark one (empty: the same).
    """
    plain = data_of(figure)
    own = "head" in (plain["layout"].get("meta") or {})
    return {
        "kind": "figure",
        "figure": {"drawn": plain, "dark": data_of(dark_of(figure)) if own else {}},
    }


PLOTLY_MIME = "application/vnd.plotly.v1+json"


class Chart(View):
    """A figure of :mod:`hsd_viz.figures` that was made for a light page, in the page's theme; or
    a plotly figure.
    """

    view = traitlets.Unicode("plot").tag(sync=True)
    drawn = traitlets.Dict().tag(sync=True)
    dark = traitlets.Dict().tag(sync=True)
    # The view itself follows the width of its place.
    config = traitlets.Dict({**CONFIG, "responsive": False}).tag(sync=True)
    library = traitlets.Unicode().tag(sync=True)

    def __init__(self, figure: go.Figure) -> None:
        state = figure_part(figure)["figure"]
        super().__init__(library=library_of(figure), drawn=state["drawn"], dark=state["dark"])
        self.figure = figure


def show_figure(figure: go.Figure) -> None:
    """Display a figure in a notebook cell through plotly's JupyterLab extension; one in plotly's
    default template gets the form of :mod:`hsd_viz.figures`.
    """
    from IPython.display import display

    from hsd_viz.figures.charts import in_common_form

    figure = in_common_form(figure)
    content = data_of(figure) | {"config": CONFIG}
    display({PLOTLY_MIME: content, "text/plain": str(content["layout"]["title"]["text"])}, raw=True)


GROUP = "hsd_viz.views"
#: Makes a tab's content from a trace: a widget or a plotly figure.
Maker = Callable[..., Any]
_REGISTERED: dict[str, Maker] = {}


class Composition(Exported, widgets.GridBox):
    """Views in a grid of ``cols`` columns; create it with :func:`compose`."""

    cols = 1


def compose(parts: Iterable[Any], cols: int = 2) -> Composition:
    """Arrange views, widgets and plotly figures in a grid.

    Linked views keep their groups: pass them to :func:`link` to share one cursor.

    Raises:
        TypeError: for other parts.
        UserError: if there are none.
    """
    check_range("the number of columns", cols, 1)
    if not (views := [as_widget(part) for part in parts]):
        raise UserError("compose() needs at least one view")
    layout = widgets.Layout(
        grid_template_columns=f"repeat({cols}, minmax(0, 1fr))", grid_gap="24px"
    )
    made = Composition(views, layout=layout)
    made.cols = cols
    return made


def as_widget(part: Any) -> widgets.Widget:
    """Return a widget of a widget or a plotly figure.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(part, widgets.Widget):
        return part
    if hasattr(part, "to_plotly_json"):
        return Chart(part)
    raise TypeError(f"expected a view, a widget or a plotly figure, not {type(part).__name__}")


def register(name: str, cls: Maker) -> Maker:
    """Add a tab ``name`` to dashboards created from now on, or replace it, and return ``cls``.

    ``cls(trace)`` returns a widget or a plotly figure; it is called for every run that the tab
    shows. A linked view shares the page's run and cursor. A package adds a tab by an entry point of
    the group ``hsd_viz.views`` instead.

    Raises:
        UserError: for an empty name.
        TypeError: if ``cls`` cannot be called.
    """
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"invalid name of a view: {name!r}, use a short text for its tab")
    if not callable(cls):
        raise TypeError(
            f"'{name}' cannot be registered: expected a class or a function of a trace, not {cls!r}"
        )
    _REGISTERED[name.strip()] = cls
    return cls


def unregister(name: str) -> None:
    """Remove a registered tab; unknown names are ignored."""
    _REGISTERED.pop(name.strip(), None)


def registered() -> dict[str, Callable[[], Maker]]:
    """Return a loader for each tab: entry points, then registered ones, which replace them."""
    makers: dict[str, Callable[[], Maker]] = {
        point.name: point.load for point in entry_points(group=GROUP)
    }
    return makers | {name: (lambda cls=cls: cls) for name, cls in _REGISTERED.items()}
