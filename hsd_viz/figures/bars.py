"""Horizontal bars of stacked parts, each with its text, and dots with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from hsd_viz.figures.charts import HOVER, INK, STEP, Figure, between, finish, plain
from hsd_viz.figures.palette import HUES, KINDS, family, label, pale

#: Columns of a bar's row that are drawn; all others are text after the bar.
DRAWN = ("group", "words", "dot", "low", "high")
#: Parts of bars that are neither sources nor kinds of stacks: label and colour.
PARTS = {"own": ("the target's own token", pale(HUES["target"].light))}
#: Pixels of a character of the text after a bar.
CHARACTER = 7


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
        rows: one per bar, from the top. The first column has the labels; ``words`` what is written
            before them; ``group`` a heading above the first bar of each; ``dot`` a value with its
            interval ``low`` to ``high``; the others are text, shown after the bar and in the table.
        parts: ``row`` (position in ``rows``), ``part`` (a source, a kind of :data:`palette.KINDS`,
            or one of :data:`PARTS`) and ``value``, in the order of the legend.
        title: the title.
        unit: the label of the axis.
        dots: the name of the dots.
        faint: one name for all bars, drawn pale.
        reference: a dashed line.
        legend: False if the labels name the parts.
        text: what is shown.
        note: where it comes from.
        dark: whether the figure is for a dark page.
    """
    if rows.empty:
        empty = go.Figure(layout={"xaxis": {"visible": False}, "yaxis": {"visible": False}})
        return finish(empty, title, note=note or "No values.", dark=dark, height=120)
    rows = rows.reset_index(drop=True)
    labels = rows.iloc[:, 0].astype(str).tolist()
    groups = rows["group"].tolist() if "group" in rows else [""] * len(rows)
    columns = [name for name in rows.columns[1:] if name not in DRAWN]
    cells = list(rows[columns].itertuples(index=False, name=None))
    texts = [" · ".join(filter(None, map(str, row))) for row in cells]
    places, ticks = _places(_ticks(rows, labels), groups)
    figure = px.bar(
        parts.assign(place=[places[row] for row in parts["row"]]),
        x="value",
        y="place",
        color="part",
    )
    _draw_parts(figure, parts, labels, unit, faint)
    if "dot" in rows and rows["dot"].notna().any():
        figure.add_trace(_dots(rows, places, labels, dots, unit))
    ends = _ends(rows, parts)
    longest = max(float(ends.max()), reference or 0.0) or 1.0
    right_end = 1.02 * longest
    # One column behind the longest bar: no text is on a line or on another bar's interval.
    figure.add_scatter(
        x=[right_end] * len(rows),
        y=places,
        text=[f"  {plain(words)}" for words in texts],
        mode="text",
        textposition="middle right",
        textfont_color=INK.muted,
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    if reference is not None:
        figure.add_vline(x=reference, line={"color": INK.text, "width": 1.5, "dash": "dash"})
    if not legend or (len(set(parts["part"])) < 2 and not dots):
        figure.update_traces(showlegend=False)
    figure.update_xaxes(title_text=plain(unit), range=[0, right_end])
    _draw_labels(figure, ticks)
    room = CHARACTER * max(map(len, texts), default=0)
    figure.update_layout(barmode="stack", margin={"r": 16 + room})
    listed = f"After each bar: {' · '.join(filter(None, columns))}. " if any(columns) else ""
    # A narrow page writes labels above bars; js/plot/narrow.ts.
    figure.update_layout(meta={"rows": [list(tick) for tick in ticks]})
    table = [[rows.columns[0], *columns]]
    for name, group, row in zip(labels, groups, cells, strict=True):
        table.append([f"{group}: {name}" if group else name, *row])
    return finish(
        figure,
        title,
        text=text,
        note=f"{listed}{note}".strip(),
        table=table,
        dark=dark,
        height=STEP * max(2, ticks[-1][0] + 1) + 56,
    )


def _ticks(rows: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return what is written beside each bar: its words, and its label behind them."""
    names = [plain(name) for name in labels]
    if "words" not in rows:
        return names
    return [
        f"<b>{plain(words)}</b> {name}" for words, name in zip(rows["words"], names, strict=True)
    ]


def _places(names: Sequence[str], groups: Sequence[str]) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the position of each bar, and (position, text) of all ticks: a heading has a position
    of its own.
    """
    places: list[int] = []
    ticks: list[tuple[int, str]] = []
    heading = ""
    for name, group in zip(names, groups, strict=True):
        if group and group != heading:
            ticks.append((len(ticks), f"<b>{plain(group)}</b>"))
        heading = group or heading
        places.append(len(ticks))
        ticks.append((len(ticks), name))
    return places, ticks


def _draw_labels(figure: go.Figure, ticks: Sequence[tuple[int, str]]) -> None:
    """Write the labels of bars and groups at their positions, the first one at the top."""
    positions, names = zip(*ticks, strict=True)
    figure.update_yaxes(
        title_text="",
        tickvals=positions,
        ticktext=names,
        range=[positions[-1] + 0.6, positions[0] - 0.6],
        showgrid=False,
        ticks="",
    )


def _ends(rows: pd.DataFrame, parts: pd.DataFrame) -> pd.Series:
    """Return where the text of each bar begins: behind its parts, its dot and its interval."""
    ends = parts.groupby("row")["value"].sum().reindex(range(len(rows)), fill_value=0.0)
    if "dot" not in rows or not rows["dot"].notna().any():
        return ends
    columns = [ends, rows["dot"]]
    if "high" in rows:
        columns.append(rows["high"])
    return pd.concat(columns, axis=1).max(axis=1)


def _draw_parts(
    figure: go.Figure, parts: pd.DataFrame, labels: Sequence[str], unit: str, faint: str
) -> None:
    """Draw the parts of bars in their colours; ``faint`` ones pale, with one name for all."""
    for trace in figure.data:
        of_trace = parts[parts["part"] == trace.name]
        name, colour = style(trace.name)
        hover = []
        for row, value in zip(of_trace["row"], of_trace["value"], strict=True):
            hover.append(f"{plain(labels[row])}:<br>{plain(name)} {value:.3g} {plain(unit)}")
        trace.showlegend = not faint
        trace.update(
            name=name,
            marker={
                "color": pale(colour) if faint else colour,
                "line": {"color": colour, "width": 1.5 if faint else 0},
            },
            width=0.62,
            orientation="h",
            customdata=hover,
            hovertemplate=HOVER,
        )
    if faint:
        # The entry of the legend.
        figure.add_bar(
            x=[None],
            y=[None],
            name=faint,
            marker_color=pale(INK.muted),
            orientation="h",
            hoverinfo="skip",
            showlegend=True,
        )


def _dots(
    rows: pd.DataFrame, places: Sequence[int], labels: Sequence[str], name: str, unit: str
) -> go.Scatter:
    """Return the values of ``dot`` with their intervals."""
    values = rows["dot"]
    low = rows.get("low", values)
    high = rows.get("high", values)
    hover = []
    for text, value, lower, upper in zip(labels, values, low, high, strict=True):
        interval = ""
        if pd.notna(lower) and lower < upper:
            interval = f" ({between(lower, upper)})"
        hover.append(f"{plain(text)}:<br>{name or 'value'} {value:.3g} {plain(unit)}{interval}")
    dots = go.Scatter(
        x=values,
        y=list(places),
        mode="markers",
        marker={"color": INK.text, "size": 8, "line": {"color": INK.page, "width": 1.5}},
        error_x={
            "array": (high - values).fillna(0).tolist(),
            "arrayminus": (values - low).fillna(0).tolist(),
            "color": INK.text,
            "thickness": 1.5,
            "width": 4,
        },
        customdata=hover,
    )
    return dots.update(name=name, showlegend=bool(name), hovertemplate=HOVER)


def style(part: str) -> tuple[str, str]:
    """Return the label and the colour of a part."""
    if part in KINDS:
        return KINDS[part].label, KINDS[part].light
    return PARTS.get(part) or (label(part), HUES[family(part)].light)
