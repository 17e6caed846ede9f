"""The kinds of figures, each a function of a tidy frame: bars, predictions beside measurements,
lines, and a map.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from hsd_viz.figures.palette import HUES, INKS, KINDS, family, label, pale
from hsd_viz.figures.theme import dark_of, save, template
from hsd_viz.words import guess

INK = INKS[False]
#: Pixels of a bar with its gap.
STEP = 26
#: Columns of a bar's row that are drawn; all others are text after the bar.
DRAWN = ("group", "dot", "low", "high")
#: Parts of bars that are neither sources nor kinds of stacks: label and colour.
PARTS = {"own": ("the target's own token", pale(HUES["target"].light))}
#: Hover text: the whole ``customdata`` of a point, and its first part (of plotly express).
HOVER = "%{customdata}<extra></extra>"
SAID = "%{customdata[0]}<extra></extra>"


class Figure(go.Figure):
    """A plotly figure with a method that writes it to a file."""

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write the figure as ``.html``, ``.svg``, ``.png`` or ``.pdf``; see
        :func:`hsd_viz.figures.save`.
        """
        return save(self, path, **options)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"a figure has no attribute '{name}'{guess('figure', name)}")


def finish(
    figure: go.Figure,
    title: str,
    *,
    text: str = "",
    note: str = "",
    table: Sequence[Sequence[Any]] = (),
    dark: bool = False,
    height: int = 300,
) -> Figure:
    """Return a figure in the common form: ``height`` is that of the plot with its axes. ``text``
    says what is shown, ``note`` where it comes from, ``table`` has all values (head first). A page
    reads them in ``layout.meta`` and writes its own heading in the ``head`` pixels above.
    """
    notes = textwrap.wrap(plain(note), 104)
    head = 44 + 16 * len(notes) + (10 if notes else 0)
    named = [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
    below = 56 + 20 * math.ceil(sum(44 + 6.6 * len(name) for name in named) / 680)
    meta: dict[str, Any] = {"title": title, "text": text, "note": note, "head": head}
    if table:
        meta["table"] = [[str(cell) for cell in row] for row in table]
    heading = {"text": plain(title), "subtitle": {"text": "<br>".join(notes)}}
    # Titles of panels are above the plot.
    above = 22 if figure.layout.annotations else 0
    margin = {"t": head + above, "b": below, "r": figure.layout.margin.r}
    layout = {
        "template": template(),
        "title": heading,
        "margin": margin,
        "height": height + head + above + below - 56,
    }
    made = Figure(figure).update_layout(**layout, legend={"title": {"text": ""}}, meta=meta)
    return dark_of(made) if dark else made


def bars(
    rows: pd.DataFrame,
    parts: pd.DataFrame,
    title: str,
    unit: str,
    *,
    dots: str = "",
    faint: str = "",
    reference: float | None = None,
    legend: bool = True,
    text: str = "",
    note: str = "",
    dark: bool = False,
) -> Figure:
    """Return horizontal bars of stacked parts.

    Args:
        rows: one per bar, from the top. The first column has the labels; ``group`` a heading above
            the first bar of each; ``dot`` a value with its interval ``low`` to ``high``; the others
            are text, shown after the bar and in the table.
        parts: ``row`` (position in ``rows``), ``part`` (a source, a kind of :data:`palette.KINDS`,
            or one of :data:`PARTS`) and ``value``, in the order of the legend.
        unit: the label of the axis. dots: the name of the dots. faint: one name for all bars, drawn
            pale.
        reference: a dashed line. legend: False if the labels name the parts.
    """
    if rows.empty:
        empty = go.Figure(layout={"xaxis": {"visible": False}, "yaxis": {"visible": False}})
        return finish(empty, title, note=note or "No values.", dark=dark, height=120)
    rows = rows.reset_index(drop=True)
    texts = [name for name in rows.columns[1:] if name not in DRAWN]
    labels = rows.iloc[:, 0].astype(str).tolist()
    groups = rows["group"].tolist() if "group" in rows else [""] * len(rows)
    after = [" · ".join(filter(None, map(str, row))) for row in rows[texts].itertuples(index=False)]
    place, ticks = _places(labels, groups)
    figure = px.bar(
        parts.assign(place=[place[k] for k in parts["row"]]), x="value", y="place", color="part"
    )
    _draw_parts(figure, parts, labels, unit, faint)
    ends = parts.groupby("row")["value"].sum().reindex(range(len(rows)), fill_value=0.0)
    if "dot" in rows and rows["dot"].notna().any():
        ends = pd.concat(
            [ends, *(rows[name] for name in ("dot", "high") if name in rows)], axis=1
        ).max(axis=1)
        figure.add_trace(_dots(rows, place, labels, dots, unit))
    tail = {
        "mode": "text",
        "textposition": "middle right",
        "textfont_color": INK.muted,
        "cliponaxis": False,
    }
    words = [f"  {plain(text)}" for text in after]
    figure.add_scatter(x=ends, y=place, text=words, hoverinfo="skip", showlegend=False, **tail)
    if reference is not None:
        figure.add_vline(x=reference, line={"color": INK.text, "width": 1.5, "dash": "dash"})
    if not legend or (len(set(parts["part"])) < 2 and not dots):
        figure.update_traces(showlegend=False)
    most = max(float(ends.max()), reference or 0.0) or 1.0
    figure.update_xaxes(title_text=plain(unit), range=[0, 1.02 * most])
    at, names = zip(*ticks, strict=True)
    span = [at[-1] + 0.6, at[0] - 0.6]
    figure.update_yaxes(
        title_text="", tickvals=at, ticktext=names, range=span, showgrid=False, ticks=""
    )
    figure.update_layout(barmode="stack", margin={"r": 16 + 7 * max(map(len, after), default=0)})
    named = [
        f"{group}: {label}" if group else label for group, label in zip(groups, labels, strict=True)
    ]
    cells = [
        [name, *row] for name, row in zip(named, rows[texts].itertuples(index=False), strict=True)
    ]
    listed = f"After each bar: {' · '.join(filter(None, texts))}. " if any(texts) else ""
    table = [[rows.columns[0], *texts], *cells]
    height = STEP * max(2, at[-1] + 1) + 56
    return finish(
        figure,
        title,
        text=text,
        note=f"{listed}{note}".strip(),
        table=table,
        dark=dark,
        height=height,
    )


def _places(
    labels: Sequence[str], groups: Sequence[str]
) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the position of each bar, and (position, label) of all ticks: a heading has a position
    of its own.
    """
    places: list[int] = []
    ticks: list[tuple[int, str]] = []
    before = ""
    for name, group in zip(labels, groups, strict=True):
        if group and group != before:
            ticks.append((len(ticks), f"<b>{plain(group)}</b>"))
        before = group or before
        places.append(len(ticks))
        ticks.append((len(ticks), plain(name)))
    return places, ticks


def _draw_parts(
    figure: Figure, parts: pd.DataFrame, labels: Sequence[str], unit: str, faint: str
) -> None:
    """Draw the parts of bars in their colours; ``faint`` ones pale, with one name for all."""
    for trace in figure.data:
        mine = parts[parts["part"] == trace.name]
        name, colour = style(trace.name)
        points = zip(mine["row"], mine["value"], strict=True)
        said = [
            f"{plain(labels[row])}:<br>{plain(name)} {value:.3g} {plain(unit)}"
            for row, value in points
        ]
        marker = {
            "color": pale(colour) if faint else colour,
            "line": {"color": colour, "width": 1.5 if faint else 0},
        }
        trace.showlegend = not faint
        trace.update(
            name=name,
            marker=marker,
            width=0.62,
            orientation="h",
            customdata=said,
            hovertemplate=HOVER,
        )
    if faint:
        quiet = {"orientation": "h", "hoverinfo": "skip", "showlegend": True}
        figure.add_bar(x=[None], y=[None], name=faint, marker_color=pale(INK.muted), **quiet)


def _dots(
    rows: pd.DataFrame, place: Sequence[int], labels: Sequence[str], name: str, unit: str
) -> go.Scatter:
    """Return the values of ``dot`` with their intervals."""
    low, high = (rows[n] if n in rows else rows["dot"] for n in ("low", "high"))
    between = [
        f" ({lo:.3g} to {hi:.3g})" if pd.notna(lo) and lo < hi else ""
        for lo, hi in zip(low, high, strict=True)
    ]
    said = [
        f"{plain(label_)}:<br>{name or 'value'} {dot:.3g} {plain(unit)}{ends}"
        for label_, dot, ends in zip(labels, rows["dot"], between, strict=True)
    ]
    error = {"array": (high - rows["dot"]).fillna(0), "arrayminus": (rows["dot"] - low).fillna(0)}
    error = {key: value.tolist() for key, value in error.items()} | {
        "color": INK.text,
        "thickness": 1.5,
        "width": 4,
    }
    marker = {"color": INK.text, "size": 8, "line": {"color": INK.page, "width": 1.5}}
    dots = go.Scatter(
        x=rows["dot"], y=list(place), mode="markers", marker=marker, error_x=error, customdata=said
    )
    return dots.update(name=name, showlegend=bool(name), hovertemplate=HOVER)


def style(part: str) -> tuple[str, str]:
    """Return the label and the colour of a part."""
    if part in KINDS:
        return KINDS[part].label, KINDS[part].light
    return PARTS.get(part) or (label(part), HUES[family(part)].light)


def plain(text: object) -> str:
    """Escape text for plotly, which reads a little HTML in every label."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;")


def between(low: float | None, high: float | None, form: str = ".3g") -> str:
    """Return an interval as text; "–" without one."""
    return "–" if low is None or high is None or pd.isna(low) else f"{low:{form}} to {high:{form}}"
