"""One plotly template in a light and a dark variant, and what all figures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.card import card, line
from hsd_viz.figures.palette import HUES
from hsd_viz.figures.pictures import CONFIG
from hsd_viz.trace import Trace

if TYPE_CHECKING:
    import plotly.graph_objects as go
else:

    class _Plotly:
        """``plotly.graph_objects``, imported when a figure is first drawn: it takes longer than the rest together."""

        def __getattr__(self, name: str) -> Any:
            import plotly.graph_objects

            return getattr(plotly.graph_objects, name)

    go = _Plotly()

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
HEIGHT = 300
#: Text, muted text, grid lines, page, accent and loss, by dark.
INKS = {
    False: ("#1f2328", "#57606a", "#e3e7ec", "#ffffff", HUES["context"].light, HUES["nano"].light),
    True: ("#e8eaed", "#a2abb6", "#33393f", "#17181a", HUES["context"].dark, HUES["nano"].dark),
}
#: Bars behind others.
QUIET = {False: "rgba(87,96,106,0.28)", True: "rgba(162,171,182,0.38)"}
#: Colours on a light page, with those on a dark one; :func:`mix` and other modules add theirs.
TWINS: dict[str, str] = {
    **dict(zip(INKS[False], INKS[True], strict=True)),
    **{hue.light: hue.dark for hue in HUES.values()},
    QUIET[False]: QUIET[True],
}
_STATIC = "For a chart in exported notebooks: plotly.io.renderers.default = 'plotly_mimetype+notebook'"
#: A trace or the path of its file.
Given = Trace | str | Path


def trace_of(given: Given) -> Trace:
    """Return a trace, loaded if ``given`` is a path. Raises: TypeError: for anything else."""
    if isinstance(given, Trace):
        return given
    if isinstance(given, str | Path):
        return Trace.load(Path(given).expanduser())
    raise TypeError(f"expected a Trace or the path of its file, not {type(given).__name__}")


def template(dark: bool = False) -> go.layout.Template:
    """Return the light or dark template; also registered as ``hsd_light`` and ``hsd_dark``."""
    import plotly.io as pio

    name = "hsd_dark" if dark else "hsd_light"
    if name in pio.templates:
        return pio.templates[name]
    strong, muted, line, page, *_ = INKS[dark]
    axis = {"gridcolor": line, "linecolor": line, "zerolinecolor": line, "tickcolor": line, "automargin": True}
    axis |= {"tickfont": {"color": muted}, "title": {"font": {"size": 12, "color": muted}, "standoff": 8}}
    title = {"font": {"size": 16, "weight": 650, "color": strong}, "x": 0, "xref": "container", "xanchor": "left"}
    legend = {"orientation": "h", "x": 0, "xref": "container", "yref": "container", "y": 0, "yanchor": "bottom"}
    legend |= {"font": {"size": 12}, "maxheight": 0.9}
    # It would cover the title on a narrow page.
    modebar = {"bgcolor": page, "color": muted, "activecolor": strong, "remove": CONFIG["modeBarButtonsToRemove"]}
    pio.templates[name] = go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 12, "color": strong},
            "title": {**title, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 12, "l": 8}},
            "paper_bgcolor": page,
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 8, "r": 8, "t": 44, "b": 8},
            "autosize": True,
            "xaxis": axis,
            "yaxis": axis | {"ticklabelstandoff": 4},
            "bargap": 0.28,
            "hoverlabel": {
                "font": {"family": FONT, "size": 12, "color": strong},
                "bgcolor": page,
                "bordercolor": muted,
            },
            "legend": legend,
            "modebar": modebar,
            "annotationdefaults": {"font": {"color": strong}, "showarrow": False},
        }
    )
    return pio.templates[name]


@cache
def chart() -> type[go.Figure]:
    """Return the class of all figures: a plotly figure that is described where it cannot be drawn."""
    import plotly.io as pio

    class Figure(go.Figure):
        """A plotly figure; in a notebook's static HTML its description is shown unless plotly adds its own HTML.
        ``spec`` is the data that some figures are drawn from.
        """

        spec: Any = None

        def _repr_mimebundle_(self, *args: Any, **options: Any) -> dict[str, Any]:
            bundle = super()._repr_mimebundle_(*args, **options)
            meta = self.layout.meta or {}
            words = line(meta.get("description", "")) + line(_STATIC)
            return {"text/html": card(meta.get("title", "Figure"), "", words)} | bundle

        def _ipython_display_(self) -> None:
            if not (pio.renderers.render_on_display and pio.renderers.default):
                print(repr(self))
            elif "mimetype" in pio.renderers.default and "+" not in pio.renderers.default:
                from IPython.display import display

                display(self._repr_mimebundle_(), raw=True)
            else:
                super()._ipython_display_()

        def save(self, path: str | Path, **options: Any) -> Path:
            """Write the figure as ``.html``, ``.svg`` or ``.png``; see :func:`hsd_viz.figures.save`."""
            from hsd_viz.figures.pictures import save

            return save(self, path, **options)

    return Figure


def figure(
    data: list,
    title: str,
    words: str,
    dark: bool,
    *,
    note: str = "",
    height: int = HEIGHT,
    about: Mapping[str, Any] | None = None,
    **layout: Any,
) -> go.Figure:
    """Return a figure in the template. ``note`` is small text below the title, ``words`` describe the figure to screen
    readers. Both are in ``layout.meta`` with what ``about`` holds for a page: ``text`` (what is shown), ``table`` (its
    head and rows), ``verdict`` (a value and its text), ``picks`` (a click means something).
    """
    lines = wrapped(note)
    heading = {
        "text": plain(title),
        "subtitle": {"text": "<br>".join(lines), "font": {"color": INKS[dark][1], "size": 12}},
    }
    said = f"{title}: {words}{'' if words.endswith('.') else '.'}"
    more = 16 * len(lines) + (10 if lines else 0)
    # ``head``: the pixels of title and note, which a page writes itself.
    meta = {"title": title, "description": words, "words": said, "note": note, "head": 44 + more, **(about or {})}
    base = {"template": template(dark), "height": height + more, "title": heading, "meta": meta}
    return chart()(data=data, layout=base | {"margin": {"t": 44 + more}} | layout)


def legend_room(labels: Iterable[str]) -> int:
    """Return the pixels below the axis for its title and a legend."""
    wide = sum(44 + 6.6 * len(label) for label in labels)
    return 56 + 20 * math.ceil(wide / 680)


def plain(text: str) -> str:
    """Escape text for plotly, which reads a little HTML in every label."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def signed(share: float) -> str:
    """Return a share in per cent with its sign."""
    return f"{share:+.0%}".replace("-", "−")


def mix(colour: str, page: str, share: float) -> str:
    """Return ``share`` of a colour on a page colour, both ``#rrggbb``."""
    parts = ((int(colour[k : k + 2], 16), int(page[k : k + 2], 16)) for k in (1, 3, 5))
    mixed = "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in parts)
    if page == INKS[False][3] and mixed not in TWINS:
        TWINS[mixed] = mix(TWINS[colour], INKS[True][3], share)
    return mixed


def darkened(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[list[Any]]:
    """Return how a figure for a light page, as plain data, differs on a dark one: [path, colour]."""
    if isinstance(data, str):
        if data in TWINS:
            yield [list(path), TWINS[data]]
        return
    for key, value in data.items() if isinstance(data, dict) else enumerate(data if isinstance(data, list) else ()):
        yield from darkened(value, (*path, key))


def wrapped(text: str, width: int = 104) -> list[str]:
    """Return text in lines of small type, escaped."""
    return textwrap.wrap(plain(text), width)


def hover(text: str) -> str:
    """Return text for a box beside a point, which plotly does not wrap."""
    return "<br>".join(wrapped(text, 52))
