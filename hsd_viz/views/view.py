"""Base classes of views: widgets drawn by the module of ``js/``, charts, grids, and the registry of
additional tabs.
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
#: Traits that are not options of a view.
_INTERNAL = {"data", "palette", "runs", "sources"}


class _Bundle(widgets.Widget):
    """The compressed module of all views, which a page receives once."""

    code = traitlets.Bytes(_PACKED).tag(sync=True)


_bundles: list[_Bundle] = []


class BundleWidget(anywidget.AnyWidget):
    """A widget drawn by the view named ``view`` of the module (``js/views.ts``), or by its own
    ``_esm``.
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
        """Check the names of the options before any is set. An internal widget accepts any
        trait.
        """

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Send a module that the page requests: plotly, or that of all views if the page lacks the
        model of the bundle.
        """
        if isinstance(content, dict) and (kind := content.get("kind")) in ("bundle", "library"):
            self.send(
                {"kind": kind},
                [_PACKED if kind == "bundle" else packed(getattr(self, "library", CARTESIAN))],
            )


class View(Exported, BundleWidget):
    """A public view. Unknown options are errors."""

    def _check_options(self, options: Mapping[str, Any]) -> None:
        names = {name for name in self.trait_names() if not name.startswith("_")}
        for name in options.keys() - names:
            allowed = (
                ", ".join(sorted(names - {*BundleWidget.class_trait_names()} - _INTERNAL)) or "none"
            )
            close = did_you_mean(name, names)
            raise TypeError(
                f"{type(self).__name__} has no option '{name}': its options are {allowed}{close}"
            )


def figure_part(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as a part of an answer (``js/host.ts``), with the data for a light page and
    for a dark one (empty: the same).
    """
    plain = data_of(figure)
    own = "head" in (plain["layout"].get("meta") or {})
    return {
        "kind": "figure",
        "figure": {"drawn": plain, "dark": data_of(dark_of(figure)) if own else {}},
    }


PLOTLY_MIME = "application/vnd.plotly.v1+json"


class Chart(View):
    """A plotly figure. One of :mod:`hsd_viz.figures`, drawn for a light page, follows the theme of
    the page.
    """

    view = traitlets.Unicode("plot").tag(sync=True)
    drawn = traitlets.Dict().tag(sync=True)
    dark = traitlets.Dict().tag(sync=True)
    # The view itself follows the available width.
    config = traitlets.Dict({**CONFIG, "responsive": False}).tag(sync=True)
    library = traitlets.Unicode().tag(sync=True)

    def __init__(self, figure: go.Figure) -> None:
        state = figure_part(figure)["figure"]
        super().__init__(library=library_of(figure), drawn=state["drawn"], dark=state["dark"])
        self.figure = figure


def show_figure(figure: go.Figure) -> None:
    """Display a figure in a notebook cell through plotly's JupyterLab extension. A figure with
    plotly's default template gets the style of :mod:`hsd_viz.figures`.
    """
    from IPython.display import display

    from hsd_viz.figures.charts import in_common_form

    figure = in_common_form(figure)
    content = data_of(figure) | {"config": CONFIG}
    display({PLOTLY_MIME: content, "text/plain": str(content["layout"]["title"]["text"])}, raw=True)


GROUP = "hsd_viz.views"
#: A function that returns the content of a tab for a trace: a widget or a plotly figure.
Maker = Callable[..., Any]
_REGISTERED: dict[str, Maker] = {}


class Composition(Exported, widgets.GridBox):
    """Views in a grid; created by :func:`compose`."""

    cols = 1


def compose(parts: Iterable[Any], cols: int = 2) -> Composition:
    """Arrange views, widgets and plotly figures in a grid.

    Linked views keep their groups: pass them to :func:`link` to share one cursor.

    Raises:
        TypeError: if a part is of another type.
        UserError: if there are no parts.
    """
    check_range("the number of columns", cols, 1)
    if not (views := [as_widget(part) for part in parts]):
        raise UserError("compose() needs at least one view")
    layout = widgets.Layout(
        grid_template_columns=f"repeat({cols}, minmax(0, 1fr))", grid_gap="24px"
    )
    composition = Composition(views, layout=layout)
    composition.cols = cols
    return composition


def as_widget(part: Any) -> widgets.Widget:
    """Convert a widget or a plotly figure to a widget.

    Raises:
        TypeError: if it is of another type.
    """
    if isinstance(part, widgets.Widget):
        return part
    if hasattr(part, "to_plotly_json"):
        return Chart(part)
    raise TypeError(f"expected a view, a widget or a plotly figure, not {type(part).__name__}")


def register(name: str, cls: Maker) -> Maker:
    """Add or replace the tab ``name`` in dashboards created later, and return ``cls``.

    ``cls(trace)`` returns a widget or a plotly figure, and is called for every run that the tab
    shows. A linked view shares the run and the cursor of the page. Packages can add a tab by an
    entry point of the group ``hsd_viz.views`` instead.

    Raises:
        UserError: if the name is empty.
        TypeError: if ``cls`` is not callable.
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
