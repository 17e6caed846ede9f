"""When does a hierarchy pay? The gain of a second draft model over the best single one.

The field, by cost and agreement, and its frontier are the latency law; the points are measured
(this ladder, and targets padded with layers that change nothing but the cost) or predicted. Every
point has its own gain: it differs from the field where its bottom model or its verification costs
do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.express as px

from hsd_viz.disk import data_folder, read_json
from hsd_viz.figures.charts import HOVER, INK, Figure, between, finish
from hsd_viz.figures.palette import KINDS, pale
from hsd_viz.figures.second_draft import (
    BOTTOM_ACCEPTANCE,
    BOTTOM_COST,
    BOTTOM_TARGET,
    WIDTHS,
    gain,
    measured_points,
    predicted_point,
)

#: The costs of :data:`WIDTHS` tokens in passes over one, on a GPU.
GPU = (1.0, 1.01, 1.03, 1.07, 1.15)
COSTS = np.geomspace(0.02, 0.7, 16)
AGREEMENTS = np.linspace(0.5, 0.99, 13)
#: The largest published gain over the best single draft (abstract of arXiv 2510.19705, which names
#: no cost ratio).
PUBLISHED = 1.2
#: What is predicted: a GPU, its number, and the models, target first.
PREDICTED = ("H100", 4, ("llama-70b", "llama-8b", "llama-1b"))
_HEAD = ["hierarchy", "kind", "cost", "acceptance", "acceptance of the bottom model"]
_HEAD += ["gain", "by the law as calibrated there", "by the field", "95 % interval"]
#: On which side of 1 the interval of a point is.
ABOVE = "surely above 1"
BELOW = "surely below 1"
NOT_SETTLED = "not settled"
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5)


#: Side of a label -> where it is, in units of :func:`_label_places`.
_SIDES = {
    "top center": (0.0, 0.03),
    "bottom center": (0.0, -0.03),
    "middle right": (0.033, 0.0),
    "middle left": (-0.033, 0.0),
}


def _label_places(points: pd.DataFrame) -> list[str]:
    """Return the side of each point on which its label is farthest from others and their labels."""
    # About as the points are drawn.
    across = np.log10(points["cost"]) / 1.5
    up = points["agreement"] * 1.3
    places = np.column_stack([across, up])
    occupied = [tuple(place) for place in places]
    sides = []
    for place in places:
        others = np.array([other for other in occupied if other != tuple(place)])
        distances = {}
        for side, shift in _SIDES.items():
            distances[side] = np.hypot(*(others - place - shift).T).min()
        best = max(distances, key=distances.__getitem__)
        sides.append(best)
        occupied.append(tuple(place + _SIDES[best]))
    return sides


def when_it_pays(
    grids: Sequence[Mapping[str, Any] | str | Path] | None = None, dark: bool = False
) -> Figure:
    """Plot where a second draft model pays: field and frontier of the law, and points.

    ``grids`` are reports of ``benchmarks.grid`` (default: the project's own).
    """
    data = _read_grids(grids)
    points = pd.concat([measured_points(data), predicted_point(*PREDICTED)], ignore_index=True)
    measured_widths = _measured_widths(data)
    points["field"] = _field_of(points, measured_widths)
    figure = _scatter(points)
    _add_field(figure)
    _add_frontier(figure, "GPU", GPU, "solid")
    _add_frontier(figure, "the measured points", measured_widths, "dot")
    _draw_points_last(figure)
    _label_axes(figure)
    return finish(
        figure,
        "When does a hierarchy pay?",
        text=_TEXT,
        note=_note(points),
        table=[_HEAD, *(_table_row(point) for point in points.itertuples())],
        dark=dark,
        height=480,
    )


def _read_grids(
    grids: Sequence[Mapping[str, Any] | str | Path] | None,
) -> list[Mapping[str, Any]]:
    if grids is None:
        grids = sorted(data_folder("measured", "docs/bench").glob("grid-*.json"))
    data: list[Mapping[str, Any]] = []
    for grid in grids:
        if isinstance(grid, str | Path):
            grid = read_json(Path(grid), "grid")
        data.append(grid)
    return data


def _measured_widths(grids: Iterable[Mapping[str, Any]]) -> tuple[float, ...]:
    """Return the median cost of :data:`WIDTHS` tokens of the measured points."""
    rows = []
    for grid in grids:
        for point in grid["points"]:
            rows.append([point["verifying_over_one"][str(width)] for width in WIDTHS[1:]])
    return (1.0, *np.median(rows, axis=0))


def _field_of(points: pd.DataFrame, measured_widths: Sequence[float]) -> np.ndarray:
    """Return the gain by the field: with a GPU's forward passes where a point is predicted."""
    is_predicted = points["low"].isna()
    by_gpu = gain(points["cost"], points["agreement"], GPU)
    as_measured = gain(points["cost"], points["agreement"], measured_widths)
    return np.where(is_predicted, by_gpu, as_measured)


def _certainty(points: pd.DataFrame) -> np.ndarray:
    """Return on which side of 1 the interval of each point is."""
    is_above = points["low"] > 1
    is_below = points["high"] < 1
    return np.select([is_above, is_below], [ABOVE, BELOW], default=NOT_SETTLED)


def _scatter(points: pd.DataFrame) -> Figure:
    labelled = points.assign(
        certainty=_certainty(points),
        side=_label_places(points),
        text=points["gain"].map("{:.2f}".format),
    )
    figure = px.scatter(
        labelled,
        x="cost",
        y="agreement",
        color="certainty",
        symbol="kind",
        text="text",
        custom_data=["hover", "side"],
        color_discrete_map={
            ABOVE: INK.accent,
            BELOW: INK.loss,
            NOT_SETTLED: KINDS["hf"].light,
        },
        log_x=True,
    )
    for trace in figure.data:
        hover, sides = zip(*trace.customdata, strict=True)
        trace.update(customdata=hover, hovertemplate=HOVER, textposition=sides)
        trace.marker.update(size=12, line={"color": INK.page, "width": 1.5})
    return figure


def _add_field(figure: Figure) -> None:
    """Add the gain by the law with a GPU's forward passes: colours and thin lines."""
    field = gain(COSTS, AGREEMENTS[:, None], GPU)
    figure.add_heatmap(
        x=COSTS,
        y=AGREEMENTS,
        z=field,
        showscale=False,
        hoverinfo="skip",
        zmin=0.8,
        zmax=PUBLISHED,
        opacity=0.7,
        colorscale=[[0, pale(INK.loss)], [0.5, INK.page], [1, pale(INK.accent)]],
        zsmooth="best",
    )
    lines = {
        "start": 1.05,
        "end": PUBLISHED,
        "size": 0.05,
        "showlabels": True,
        "labelformat": ".2f",
        "coloring": "none",
    }
    figure.add_contour(
        x=COSTS,
        y=AGREEMENTS,
        z=field,
        showscale=False,
        hoverinfo="skip",
        contours=lines,
        line={"color": INK.muted, "width": 1},
        showlegend=False,
    )


def _add_frontier(figure: Figure, name: str, widths: Sequence[float], dash: str) -> None:
    """Add the line where the gain by the law is 1."""
    cost_of_8 = widths[WIDTHS.index(8)]
    figure.add_contour(
        x=COSTS,
        y=AGREEMENTS,
        z=gain(COSTS, AGREEMENTS[:, None], widths),
        showscale=False,
        hoverinfo="skip",
        contours={"start": 1, "end": 1, "size": 1, "coloring": "none"},
        line={"color": INK.text, "width": 2.5, "dash": dash},
        name=f"frontier by the law, 8 tokens verified for {cost_of_8:.2f} passes ({name})",
        showlegend=True,
    )


def _draw_points_last(figure: Figure) -> None:
    points = [trace for trace in figure.data if trace.type == "scatter"]
    others = [trace for trace in figure.data if trace.type != "scatter"]
    figure.data = [*others, *points]


def _label_axes(figure: Figure) -> None:
    figure.update_xaxes(
        tickvals=_TICKS,
        ticktext=list(map("{:g}".format, _TICKS)),
        title_text="cost of the upper draft model, in forward passes of the target",
        range=[float(np.log10(COSTS[0])), float(np.log10(COSTS[-1]))],
    )
    figure.update_yaxes(
        title_text="acceptance of its tokens by the target",
        tickformat=".0%",
        range=[float(AGREEMENTS[0]), 1.04],
    )


def _table_row(point: Any) -> list[str]:
    hierarchy = point.hover.partition("<br>")[0]
    return [
        hierarchy,
        point.kind,
        f"{point.cost:.2f}",
        f"{point.agreement:.2f}",
        f"{point.bottom_agreement:.2f}",
        f"{point.gain:.2f}",
        f"{point.law:.2f}",
        f"{point.field:.2f}",
        between(point.low, point.high, "{:.2f}"),
    ]


_TEXT = (
    "Speed of the best stack with two draft models over the best with at most one. Above the "
    "solid frontier the second one pays by the law with a GPU's forward passes; with those "
    "measured here (dotted) it changes little. Points: gain of each."
)


def _note(points: pd.DataFrame) -> str:
    """Return what the field assumes and leaves out, and how far it is from the measurements."""
    middle = points.dropna()[["field", "law", "gain"]].median()
    predicted = points.iloc[-1]
    return (
        f"Field: latency law, bottom model as on this ladder (cost {BOTTOM_COST:g} of the upper "
        f"one, acceptance {BOTTOM_ACCEPTANCE:g} by it, {BOTTOM_TARGET:g} by the target). Left out: "
        "the time of a round beyond forward passes, the draft models' own cost curves, the caches "
        "that they displace, a third draft model, texts that accept less. Median point: "
        f"{middle.field:.2f} by the field with measured passes, {middle.law:.2f} by the law as "
        f"calibrated there, {middle.gain:.2f} measured. The target accepts "
        f"{predicted.bottom_agreement:.2f} of the predicted bottom model's tokens (assumed): alone "
        f"it brings more than the field's. Published: up to {PUBLISHED:g} × (arXiv 2510.19705, "
        "without cost ratio and acceptance); arXiv 2502.05609 has databases only."
    )
