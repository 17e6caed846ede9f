"""Charts of the lessons: lines named at their ends, bars with intervals, a map of speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import INK, MIN_WIDTH, Figure, between, finish, plain
from hsd_viz.figures.palette import KINDS
from hsd_viz.results.kinds import StackKind, kind_of

#: Colours of lines, in their order.
_COLOURS = [INK.accent, KINDS["models"].light, KINDS["database"].light, INK.muted]
#: Pixels of a plot, of a character of a name, and between two names.
_HEIGHT = 300
_CHARACTER = 7
_NAME = 17

Line = Mapping[float, float]


def lines(
    series: Mapping[str, Line],
    title: str,
    *,
    x: str,
    y: str,
    dashed: Sequence[str] = (),
    text: str = "",
    note: str = "",
) -> Figure:
    """Return lines through points, each with its name at its right end.

    Args:
        series: the lines by name: values by place.
        title: what the lines show.
        x: the label of the axis of places.
        y: the label of the axis of values.
        dashed: names of lines that are computed and have no points.
        text: what is shown.
        note: where it comes from.
    """
    figure = go.Figure()
    highest = 0.0
    for k, (name, line) in enumerate(series.items()):
        colour = INK.muted if name in dashed else _COLOURS[k % len(_COLOURS)]
        figure.add_scatter(
            name=name,
            x=list(line),
            y=list(line.values()),
            mode="lines" if name in dashed else "lines+markers",
            line={"color": colour, "dash": "dash" if name in dashed else "solid", "width": 2.5},
            marker={"size": 7},
            showlegend=False,
        )
        highest = max(highest, *line.values())
    _name_ends(figure, 1.06 * highest)
    longest = max(map(len, series))
    figure.update_layout(margin_r=_CHARACTER * longest + 20, meta={"least": MIN_WIDTH})
    figure.update_xaxes(title_text=x, showgrid=False)
    figure.update_yaxes(title_text=y, range=[0, 1.06 * highest])
    return finish(figure, title, text=text, note=note, height=_HEIGHT)


def _name_ends(figure: go.Figure, top: float) -> None:
    """Write the name of each line at its end, so far apart that all can be read."""
    ends = sorted(figure.data, key=lambda line: line.y[-1])
    lowest_free = 0.0
    for line in ends:
        pixels = line.y[-1] / top * (_HEIGHT - 60)
        place = max(pixels, lowest_free)
        lowest_free = place + _NAME
        figure.add_annotation(
            x=line.x[-1],
            y=line.y[-1],
            text=plain(line.name),
            font={"color": line.line.color},
            xanchor="left",
            xshift=8,
            yshift=place - pixels,
            showarrow=False,
        )


def intervals(
    frame: pd.DataFrame,
    title: str,
    unit: str,
    *,
    stacks: bool = False,
    text: str = "",
    note: str = "",
) -> Figure:
    """Return bars of values with their 95 % intervals, the largest value first; a dashed line at 1
    is plain decoding.

    Args:
        frame: a row per bar, its label as index; columns ``value``, ``low`` and ``high``. Other
            columns are numbers shown behind the interval.
        title: what the bars show.
        unit: the label of the axis.
        stacks: whether labels are stacks: their bars have the colours of their kinds.
        text: what is shown.
        note: where it comes from.
    """
    frame = frame.sort_values("value", ascending=False)
    rows = pd.DataFrame({"label": frame.index.astype(str)})
    rows["value"] = [f"{value:.2f}" for value in frame["value"]]
    rows["95 % interval"] = [between(row.low, row.high, "{:.2f}") for row in frame.itertuples()]
    for name in frame.columns.difference(["value", "low", "high"]):
        rows[name] = [f"{value:.2f}" for value in frame[name]]
    for end, column in {"dot": "value", "low": "low", "high": "high"}.items():
        rows[end] = frame[column].to_numpy()
    kinds = [kind_of(label) if stacks else StackKind.DATABASE for label in rows["label"]]
    parts = pd.DataFrame({"row": rows.index, "value": frame["value"].to_numpy()})
    parts["part"] = [kind.value for kind in kinds]
    return bars(rows, parts, title, unit, reference=1.0, legend=False, text=text, note=note)


def break_even(
    places: Sequence[float],
    rows: Sequence[float],
    speeds: Sequence[Sequence[float]],
    line: Sequence[float],
    title: str,
    *,
    x: str,
    y: str,
) -> Figure:
    """Return a map of speeds relative to plain decoding: one colour above 1, another below.

    Args:
        places: the values across.
        rows: the values upwards.
        speeds: the speed of each row and place.
        line: the place in each row where the speed is 1.
        title: what the map shows.
        x: the label of the axis of places.
        y: the label of the axis of rows.
    """
    logarithms = np.log2(np.asarray(speeds))
    end = float(np.abs(logarithms).max())
    ticks = [0.25, 0.5, 1, 2, 4]
    slower = KINDS["models"].light
    faster = KINDS["database"].light
    figure = go.Figure()
    figure.add_heatmap(
        x=list(places),
        y=list(rows),
        z=logarithms.tolist(),
        zmin=-end,
        zmax=end,
        colorscale=[[0, slower], [0.5, INK.page], [1, faster]],
        colorbar={
            "tickvals": np.log2(ticks).tolist(),
            "ticktext": [f"{tick:g} ×" for tick in ticks],
            "thickness": 12,
            "outlinewidth": 0,
        },
        customdata=np.asarray(speeds).round(2).tolist(),
        hovertemplate="%{x}, %{y}: %{customdata} × plain decoding<extra></extra>",
    )
    figure.add_scatter(
        x=list(line),
        y=list(rows),
        mode="lines",
        line={"color": INK.text, "width": 2.5},
        showlegend=False,
        hoverinfo="skip",
    )
    middle = len(rows) * 3 // 4
    figure.add_annotation(
        x=line[middle],
        y=rows[middle],
        text="break-even, 1 ×",
        font={"color": INK.text},
        xanchor="right",
        xshift=-8,
        showarrow=False,
    )
    figure.update_layout(meta={"least": MIN_WIDTH})
    figure.update_xaxes(title_text=x, range=[min(places), max(places)])
    figure.update_yaxes(title_text=y, range=[min(rows) - 0.5, max(rows) + 0.5])
    return finish(figure, title, height=_HEIGHT)
