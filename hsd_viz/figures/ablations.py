"""Figures of database ablations (:mod:`benchmarks.ablation`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.express as px

from hsd_viz.errors import OF_ANOTHER_FORM, UserError
from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import FIRST_HOVER, INK, Figure, finish
from hsd_viz.figures.palette import in_order
from hsd_viz.figures.reports import PER_PASS, SPEED, measured, method
from hsd_viz.latency.basis import read_json, temperature_text
from hsd_viz.stack import DATABASES, PLAIN

DRAFTERS = {
    "db": "db: longest matching suffix, one scored tree",
    "hd": "hd: Hierarchy Drafting (HD) as published",
}
#: Subsets in the order of the HD paper: all, pairs, single databases.
SUBSETS = [
    *combinations(DATABASES, 3),
    *combinations(DATABASES, 2),
    *combinations(DATABASES, 1),
]
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down"]


def _ablation_row(row: Mapping[str, Any], plain_speed: float) -> dict[str, Any]:
    """Return the figures of a stack at a temperature, at which plain decoding has this speed."""
    accepted = {}
    for source, tokens in row["accepted_by_source"].items():
        accepted[source] = tokens / row["target_forwards"]
    return {
        "stack": row["stack"],
        "method": method(row["stack"]),
        "temperature": float(row["temperature"]),
        "length": row["mean_acceptance_length"],
        "speedup": row["tokens_per_second"] / plain_speed,
        "ratio": row["tokens_in_rounds_of_several"] / row["tokens"],
        "draft": row["draft_seconds_median"],
        "accepted": accepted,
    }


def ablation_of(ablation: Mapping[str, Any] | str | Path) -> tuple[pd.DataFrame, str]:
    """Return an ablation (:mod:`benchmarks.ablation`), its data or its file, as a tidy frame and
    its source.

    A row per stack and temperature: ``stack, method, temperature, length`` (mean acceptance
    length), ``speedup``, ``ratio`` (share of tokens from multi-token rounds), ``draft`` (drafting
    seconds per round) and ``accepted`` (tokens per target forward pass by source).

    Raises:
        UserError: if it is not an ablation.
    """
    data = read_json(ablation) if isinstance(ablation, str | Path) else ablation
    try:
        plain = {}
        for row in data["rows"]:
            if row["stack"] == PLAIN:
                plain[row["temperature"]] = row["tokens_per_second"]
        rows = [_ablation_row(row, plain[row["temperature"]]) for row in data["rows"]]
        return pd.DataFrame(rows), measured(data)
    except (ZeroDivisionError, *OF_ANOTHER_FORM):
        raise UserError(
            "not an ablation: use the JSON output of 'python -m benchmarks.ablation'"
        ) from None


def database_ablation(data: Any, dark: bool = False, *, temperature: float | None = None) -> Figure:
    """Plot tokens per target forward pass by source, for every database subset of an ablation (its
    data or file), at ``temperature`` (default: the lowest).

    Raises:
        UserError: if that was not measured.
    """
    frame, source = ablation_of(data)
    temperatures = sorted(frame["temperature"].unique())
    if temperature is None:
        temperature = temperatures[0]
    if temperature not in temperatures:
        measured_temperatures = ", ".join(f"{t:g}" for t in temperatures)
        raise UserError(f"no results at temperature {temperature:g}: use {measured_temperatures}")
    subsets = {}
    for name, words in DRAFTERS.items():
        for databases in SUBSETS:
            stack = f"{name}[{','.join(databases)}] > {PLAIN}"
            subsets[stack] = (words, ", ".join(databases))
    frame = frame[(frame["temperature"] == temperature) & frame["stack"].isin(subsets)]
    frame = frame.sort_values(
        "stack", key=lambda names: names.map(list(subsets).index), ignore_index=True
    )
    rows = pd.DataFrame(
        {
            "databases": [subsets[s][1] for s in frame["stack"]],
            "group": [subsets[s][0] for s in frame["stack"]],
            "tokens per forward pass": frame["length"].map("{:.2f}".format),
            "tokens from multi-token rounds": frame["ratio"].map("{:.0%}".format),
            "drafting, µs per round": (1e6 * frame["draft"]).map("{:.0f}".format),
        }
    )
    sources = pd.DataFrame(frame["accepted"].tolist())
    sources.insert(0, "own", frame["length"] - sources.sum(axis=1))
    parts = sources[["own", *in_order(sources.columns[1:])]].melt(
        var_name="part", ignore_index=False
    )
    parts = parts.rename_axis("row").reset_index().query("value > 0")
    text = (
        "Bar length: tokens per target forward pass, split into the target's own token and "
        "accepted draft tokens by first source. Plain decoding has the first part only. A "
        "multi-token round emitted more than one token; their share of all tokens is the paper's "
        "acceptance ratio."
    )
    title = f"Contribution of each database, {temperature_text(temperature)}"
    note = f"Measured: {source}."
    return bars(rows, parts, title, f"{PER_PASS}, by source", text=text, note=note, dark=dark)


def temperature_curves(
    data: Any, dark: bool = False, *, metric: str = "length", stacks: Sequence[str] | None = None
) -> Figure:
    """Plot acceptance length or speed-up (``metric="speedup"``) over temperature, one line per
    method of an ablation: ``stacks``, or the drafters with all their databases.

    Raises:
        UserError: if the metric is unknown, or a stack was not measured.
    """
    if metric not in ("length", "speedup"):
        raise UserError(f"unknown metric '{metric}': use 'length' or 'speedup'")
    frame, source = ablation_of(data)
    whole_drafters = [
        name for name in frame["method"].unique() if "[" not in name and name != PLAIN
    ]
    names = whole_drafters if stacks is None else stacks
    for name in names:
        if name not in set(frame["method"]):
            raise UserError(
                f"'{name}' was not measured: use one of {', '.join(frame['method'].unique())}"
            )
    frame = frame[frame["method"].isin(names)].sort_values("temperature")
    hover = []
    for row in frame.itertuples():
        value = getattr(row, metric)
        hover.append(f"{row.method} at temperature {row.temperature:g}: {value:.2f}")
    colours = {name: INK.accent if name in DRAFTERS else INK.muted for name in names}
    figure = px.line(
        frame.assign(hover=hover),
        x="temperature",
        y=metric,
        custom_data=["hover"],
        markers=True,
        color="method",
        color_discrete_map=colours,
        symbol="method",
        symbol_sequence=SYMBOLS,
    )
    figure.update_traces(hovertemplate=FIRST_HOVER, marker_size=9)
    figure.update_yaxes(title_text=PER_PASS if metric == "length" else SPEED)
    ticks = sorted(frame["temperature"].unique().tolist())
    figure.update_xaxes(title_text="temperature (0: greedy)", tickvals=ticks, zeroline=False)
    table = frame.pivot(index="method", columns="temperature", values=metric).map("{:.2f}".format)
    return finish(
        figure,
        "Acceptance length by temperature" if metric == "length" else "Speed-up by temperature",
        text="A higher temperature rejects likely drafts more often, regardless of the method. "
        "The loss depends on the entropy of the model.",
        note=f"Measured: {source}.",
        table=[
            ["method", *(f"T = {t:g}" for t in ticks)],
            *([name, *row] for name, *row in table.itertuples()),
        ],
        dark=dark,
        height=400,
    )
