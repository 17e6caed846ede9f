"""Charts of the lessons: lines named at their ends, bars of probabilities, rows of bars, a map of
speeds. Each may have a handle: :func:`with_slider`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import INK, MIN_WIDTH, Figure, between, finish, plain
from hsd_viz.figures.palette import HUES, bar_of, pale
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.kinds import StackKind
from hsd_viz.stack import TARGET

#: Colours of lines that are not those of a source, and their marks, in their order.
_COLOURS = [INK.accent, INK.text, INK.muted]
_MARKS = ["circle", "square", "diamond"]
#: Colours of sources by their names.
_SOURCES = {hue.label: hue.light for hue in HUES.values()}
#: Colours of the parts of a probability, as on the dart board: what is accepted has the colour of
#: the draft model, what is drawn after a rejection is grey.
_PARTS = {
    "accepted": HUES["nano"].light,
    "residual": pale(INK.muted),
    "drawn by the target": HUES["target"].light,
}
#: Pixels of a plot, of a character of a name, and between two names.
_HEIGHT = 300
_CHARACTER = 7
_NAME = 17
#: Pixels of plotly's slider below a plot; a page, which writes its own, gives them back.
SLIDER = 92
#: Pixels of a row of :func:`ordered_bars`, and of the values at its end.
_ROW = 30
_VALUES = 124
#: Half the width of a bar of a probability, and of the outline around it.
_HALF_BAR = 0.32
_HALF_OUTLINE = 0.38
#: What differs between the places of a slider.
_MOVED = ("x", "y", "z", "zmin", "zmax", "customdata", "text")

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
        colour = _SOURCES.get(name, _COLOURS[k % len(_COLOURS)])
        if name in dashed:
            colour = INK.muted
        figure.add_scatter(
            name=name,
            x=list(line),
            y=list(line.values()),
            mode="lines" if name in dashed else "lines+markers",
            line={"color": colour, "dash": "dash" if name in dashed else "solid", "width": 2.5},
            marker={"size": 7, "symbol": _MARKS[k % len(_MARKS)]},
            showlegend=False,
        )
        highest = max(highest, *line.values())
    _name_ends(figure, 1.06 * highest)
    longest = max(map(len, series))
    figure.update_layout(margin_r=_CHARACTER * longest + 20, meta={"least": MIN_WIDTH})
    places = list(chain(*series.values()))
    # What is written beside the ends needs no room on the axis: it is in the margin.
    beside = 0.03 * (max(places) - min(places))
    reach = [min(places) - beside, max(places) + beside]
    figure.update_xaxes(title_text=x, showgrid=False, range=reach)
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
        stacks: whether labels are stacks: their bars have the colours of their kinds, and the names
            of their drafters.
        text: what is shown.
        note: where it comes from.
    """
    frame = frame.sort_values("value", ascending=False)
    labels = frame.index.astype(str).tolist()
    rows = pd.DataFrame({"label": _named(labels) if stacks else labels})
    rows["value"] = [f"{value:.2f}" for value in frame["value"]]
    rows["95 % interval"] = [between(row.low, row.high, "{:.2f}") for row in frame.itertuples()]
    for name in frame.columns.difference(["value", "low", "high"]):
        rows[name] = [f"{value:.2f}" for value in frame[name]]
    for end, column in {"dot": "value", "low": "low", "high": "high"}.items():
        rows[end] = frame[column].to_numpy()
    drawn = [bar_of(label) if stacks else StackKind.DATABASE.value for label in labels]
    parts = pd.DataFrame({"row": rows.index, "value": frame["value"].to_numpy()})
    parts["part"] = drawn
    return bars(rows, parts, title, unit, reference=1.0, legend=False, text=text, note=note)


def ordered_bars(
    frame: pd.DataFrame,
    title: str,
    *,
    unit: str,
    end: float,
    words: str = "",
    colours: Sequence[str] = (INK.accent,),
    note: str = "",
) -> Figure:
    """Return bars in the order of a frame, with their values at the right; a dashed line at 1 is
    plain decoding. Unlike :func:`intervals` it keeps its order and its axis, for a slider.

    Args:
        frame: a row per bar, its label as index; column ``value``, and ``low`` and ``high`` where
            it has an interval.
        title: what the bars show.
        unit: the label of the axis.
        end: the end of the axis.
        words: the sentence above the bars.
        colours: the colour of each bar, or of all.
        note: where it comes from.
    """
    places = list(range(len(frame)))
    texts = [f"{value:.2f}" for value in frame["value"]]
    figure = go.Figure()
    figure.add_bar(
        x=frame["value"].tolist(),
        y=places,
        orientation="h",
        width=2 * _HALF_BAR,
        marker={"color": list(colours) if len(colours) > 1 else colours[0]},
        hoverinfo="skip",
        showlegend=False,
    )
    if "low" in frame:
        texts = [f"{row.value:.2f}, {row.low:.2f} to {row.high:.2f}" for row in frame.itertuples()]
        ends = list(chain(*([row.low, row.high, None] for row in frame.itertuples())))
        heights = list(chain(*([place, place, None] for place in places)))
        line = {"color": INK.text, "width": 2}
        figure.add_scatter(
            x=ends, y=heights, mode="lines", line=line, hoverinfo="skip", showlegend=False
        )
    figure.add_scatter(
        x=[end] * len(frame),
        y=places,
        mode="text",
        text=texts,
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    if words:
        with_words(figure, words)
    figure.add_vline(x=1, line_dash="dash", line_color=INK.text, line_width=1.5)
    figure.update_layout(margin_r=_VALUES if "low" in frame else 48, meta={"least": MIN_WIDTH})
    figure.update_xaxes(title_text=unit, range=[0, end], showgrid=False)
    labels = list(map(plain, frame.index))
    foot = len(frame) - 0.5
    figure.update_yaxes(tickvals=places, ticktext=labels, range=[foot, -0.5], showgrid=False)
    return finish(figure, title, note=note, height=_ROW * len(frame) + 56)


def _named(stacks: Sequence[str]) -> list[str]:
    """Return the names of stacks; of those with the same name the drafters as they are written."""
    names = [stack_name(stack) for stack in stacks]
    labels = []
    for name, stack in zip(names, stacks, strict=True):
        is_unique = names.count(name) == 1
        labels.append(name if is_unique else stack.removesuffix(f" > {TARGET}"))
    return labels


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
    figure = go.Figure()
    figure.add_heatmap(
        x=list(places),
        y=list(rows),
        z=logarithms.tolist(),
        zmin=-end,
        zmax=end,
        colorscale=[[0, INK.loss], [0.5, INK.page], [1, INK.accent]],
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


def probabilities(
    tokens: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    outline: Mapping[str, Sequence[float]],
    title: str,
    *,
    words: str = "",
    highest: float | None = None,
    note: str = "",
) -> Figure:
    """Return stacked bars of the probability of each token, with dashed outlines of another one.

    Args:
        tokens: the labels of the bars.
        parts: the parts of each bar by their names, from below.
        outline: the name of the outlines, and their heights.
        title: what the bars show.
        words: the sentence above the bars.
        highest: the end of the axis; by default that of the highest bar or outline.
        note: where it comes from.
    """
    places = list(range(len(tokens)))
    figure = go.Figure()
    for name, heights in parts.items():
        figure.add_bar(
            name=name,
            x=places,
            y=list(map(float, heights)),
            width=2 * _HALF_BAR,
            marker={"color": _PARTS.get(name, INK.loss)},
            hovertemplate="%{y:.3f}",
        )
    [(name, heights)] = outline.items()
    xs: list[float | None] = []
    ys: list[float | None] = []
    for place, height in zip(places, heights, strict=True):
        left = place - _HALF_OUTLINE
        right = place + _HALF_OUTLINE
        xs += [left, left, right, right, None]
        ys += [0.0, float(height), float(height), 0.0, None]
    line = {"color": INK.text, "width": 1.5, "dash": "dash"}
    figure.add_scatter(name=name, x=xs, y=ys, mode="lines", line=line, hoverinfo="skip")
    if words:
        with_words(figure, words)
    sums = [sum(map(float, column)) for column in zip(*parts.values(), strict=True)]
    top = highest or max(*sums, *map(float, heights))
    figure.update_layout(barmode="stack", meta={"least": MIN_WIDTH})
    figure.update_xaxes(tickvals=places, ticktext=list(map(plain, tokens)), showgrid=False)
    figure.update_yaxes(title_text="probability", range=[0, 1.05 * top])
    return finish(figure, title, note=note, height=_HEIGHT)


def with_words(figure: Figure, words: str) -> Figure:
    """Write a sentence above the plot of a figure, and return the figure."""
    note = {"text": plain(words), "font": {"size": 14}, "x": 0, "y": 1, "yanchor": "bottom"}
    return figure.add_annotation(note, xref="paper", yref="paper")


def with_slider(figures: Mapping[str, Figure], name: str, opens: str) -> Figure:
    """Return one of several figures with a slider that shows the others.

    Args:
        figures: figures of the same form, by their places on the slider.
        name: what the slider changes.
        opens: the place at which it is.
    """
    steps = []
    for place, figure in figures.items():
        layout = {"annotations": [note.to_plotly_json() for note in figure.layout.annotations]}
        steps.append({"label": place, "method": "update", "args": [_moved(figure), layout]})
    slider = {
        "steps": steps,
        "active": list(figures).index(opens),
        "currentvalue": {"prefix": f"{name}: ", "font": {"size": 13, "color": INK.text}},
        "pad": {"t": 52, "l": 0, "r": 0},
        "len": 1,
        "x": 0,
        "bgcolor": INK.accent,
        "activebgcolor": INK.text,
        "borderwidth": 0,
        "tickcolor": INK.muted,
        "ticklen": 4,
        "font": {"size": 11, "color": INK.muted},
    }
    shown = Figure(figures[opens])
    starts = [figure.layout.yaxis.range[0] for figure in figures.values()]
    ends = [figure.layout.yaxis.range[1] for figure in figures.values()]
    shown.update_yaxes(range=[min(starts), max(ends)])
    return shown.update_layout(
        sliders=[slider],
        height=shown.layout.height + SLIDER,
        margin_b=shown.layout.margin.b + SLIDER,
        meta={**shown.layout.meta, "handle": SLIDER},
    )


def _moved(figure: go.Figure) -> dict[str, list]:
    """Return what a slider sets: values of all traces by the names of :data:`_MOVED`."""
    traces = [trace.to_plotly_json() for trace in figure.data]
    moved = {}
    for key in _MOVED:
        values = [trace.get(key) for trace in traces]
        if any(value is not None for value in values):
            moved[key] = values
    return moved
