"""Horizontal bars: parts by source and verdict, and predictions with measurements beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hsd_viz.figures.panels import Panel
from hsd_viz.figures.style import INKS, chart, figure, go, hover, legend_room, mix, plain, signed

#: Pixels of a bar with its gap, and of what surrounds the bars of a group.
STEP, AROUND = 26, 62
HOVER = "%{customdata}<extra></extra>"
PREDICTED, MEASURED = "predicted by the latency law", "measured"


def stacked(
    groups: Sequence[Mapping[str, Any]],
    keys: Mapping[str, Any],
    title: str,
    words: str,
    dark: bool,
    note: str = "",
    about: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Return stacked bars: one subplot per group. A group has ``title``, ``unit`` (its axis) and ``rows``; a row
    ``label``, ``parts`` (key, length, hover text) and ``value`` (text after the bar). ``keys`` have label, colours and
    shape of the parts.
    """
    used = {part[0] for g in groups for row in g["rows"] for part in row["parts"]}
    fig = _panes(
        groups, title, words, dark, note, [keys[k]["label"] for k in keys if k in used and len(used) > 1], about
    )
    shown: set[str] = set()
    for place, group in enumerate(groups, start=1):
        rows = group["rows"]
        there = [k for k in keys if any(k == part[0] for row in rows for part in row["parts"])]
        for key in there:
            found = [(y, part) for y, row in enumerate(rows) for part in row["parts"] if part[0] == key]
            bar = go.Bar(
                orientation="h",
                y=[y for y, _ in found],
                x=[part[1] for _, part in found],
                name=keys[key]["label"],
                legendgroup=key,
                showlegend=key not in shown,
                marker=marker(keys[key], dark),
                width=0.62,
                customdata=[f"{plain(rows[y]['label'])}:<br>{hover(part[2])}" for y, part in found],
                hovertemplate=HOVER,
            )
            fig.add_trace(bar, row=place, col=1)
            shown.add(key)
        ends = [sum(part[1] for part in row["parts"]) for row in rows]
        values = [f" {plain(row['value'])}" for row in rows]
        fig.add_trace(beside(ends, list(range(len(rows))), values, dark), row=place, col=1)
        fig.update_xaxes(range=[0, group.get("end") or max(ends, default=0) or 1], row=place, col=1)
    fig.update_layout(
        barmode="stack",
        showlegend=len(shown) > 1,
        margin={"r": 16 + 7 * _longest(r["value"] for g in groups for r in g["rows"])},
    )
    return fig


def panel(table: Panel, dark: bool = False) -> go.Figure:
    """Return the bars of one panel; without rows, its reason."""
    rows = [
        {
            "label": row.label + (f" ({row.note})" if row.note else ""),
            "parts": row.parts,
            "value": " · ".join(row.cells),
            "cells": row.cells,
        }
        for row in table.rows
    ]
    if not rows:
        return nothing(table.title, table.empty, dark)
    title = f"{table.measure} {table.title.lower()}" if table.title.startswith("By ") else table.title
    what, unit, *heads = table.heads
    words = "; ".join(f"{what} {row['label']}: {row['value']}" for row in rows)
    said = f"{table.definition} {' and '.join(heads)} by {what}: {words}"
    group = {"title": "", "unit": unit, "rows": rows, "axis": what}
    note = f"After each bar: {' · '.join(heads)}. {table.foot}".strip()
    values = [[what, *heads], *([row["label"], *row["cells"]] for row in rows)]
    return stacked([group], table.keys, title, said, dark, note, {"text": table.definition, "table": values})


def compared(spec: Mapping[str, Any], dark: bool = False) -> go.Figure:
    """Return predictions as bars and measurements as dots with their intervals, one subplot per group."""
    groups = [{**g, "rows": [{**row, "value": _off(row)} for row in g["rows"]]} for g in spec["groups"]]
    every = [row for g in groups for row in g["rows"]]
    said = [
        f"{row['label']}: predicted {_number(row['predicted'])}, measured {_number(row['measured'])}" for row in every
    ]
    measured = MEASURED + (", with 95 % interval" if any(row["low"] is not None for row in every) else "")
    kinds = [PREDICTED, *([measured] if any(row["measured"] is not None for row in every) else [])]
    words = f"{spec['text']} {'; '.join(said)}. {spec['source']}"
    about = {"text": spec["text"], "table": _values(spec["groups"])}
    fig = _panes(groups, spec["title"], words, dark, spec["source"], kinds, about)
    ink, _, _, page, accent, _ = INKS[dark]
    for place, group in enumerate(groups, start=1):
        first, rows, ys = place == 1, group["rows"], list(range(len(group["rows"])))
        colours = [row.get("hue", {}).get("dark" if dark else "light", accent) for row in rows]
        unit = plain(group["unit"])
        law = go.Bar(orientation="h", y=ys, x=[row["predicted"] for row in rows], width=0.62, showlegend=first)
        law.update(name=PREDICTED, legendgroup="law")
        law.update(marker={"color": [mix(c, page, 0.25) for c in colours], "line": {"color": colours, "width": 1.5}})
        law.update(customdata=[_said(row, "predicted", unit) for row in rows], hovertemplate=HOVER)
        fig.add_trace(law, row=place, col=1)
        known = [(y, row) for y, row in zip(ys, rows, strict=True) if row["measured"] is not None]
        ends = [max(v for v in (r["predicted"], r["measured"], r["high"], 0) if v is not None) for r in rows]
        if known:
            run = go.Scatter(x=[row["measured"] for _, row in known], y=[y for y, _ in known], mode="markers")
            run.update(name=measured, legendgroup="run", showlegend=first)
            run.update(marker={"color": ink, "size": 9, "line": {"color": page, "width": 1.5}})
            intervals = [(row["low"], row["high"]) for _, row in known]
            run.update(error_x=spread([row["measured"] for _, row in known], intervals, dark))
            run.update(customdata=[_said(row, "measured", unit) for _, row in known], hovertemplate=HOVER)
            fig.add_trace(run, row=place, col=1)
        fig.add_trace(beside(ends, ys, [f"  {plain(row['value'])}" for row in rows], dark), row=place, col=1)
        fig.update_xaxes(range=[0, max(ends, default=1) or 1], row=place, col=1)
        names = [
            plain(row["label"]) + "".join(f"<br><i>{plain(words)}</i>" for _, words in row["tags"]) for row in rows
        ]
        fig.update_yaxes(ticktext=names, row=place, col=1)
    fig.update_layout(margin={"r": 24 + 7 * _longest(row["value"] for row in every)})
    fig.spec = spec
    return fig


def beside(x: Sequence[float], y: Sequence[Any], words: Sequence[str], dark: bool) -> go.Scatter:
    """Return texts to the right of bars that end at ``x``."""
    after = go.Scatter(x=x, y=y, text=words, mode="text", textposition="middle right", hoverinfo="skip")
    return after.update(textfont={"color": INKS[dark][1]}, showlegend=False, cliponaxis=False)


def spread(values: Sequence[float], ends: Sequence[tuple[float | None, float | None]], dark: bool) -> dict[str, Any]:
    """Return plotly's error bars for intervals around values; an unknown end has none."""
    pairs = list(zip(values, ends, strict=True))
    array = [0 if high is None else high - value for value, (_, high) in pairs]
    below = [0 if low is None else value - low for value, (low, _) in pairs]
    return {"array": array, "arrayminus": below, "color": INKS[dark][0], "thickness": 1.5}


def marker(key: Mapping[str, Any], dark: bool) -> dict[str, Any]:
    """Return plotly's marker for a part: sources are filled with their colour, verdicts have a pattern."""
    _, muted, _, page, *_ = INKS[dark]
    shape = key.get("shape")
    colour = key.get("dark" if dark else "light", muted)
    line = {"color": colour, "width": 1}
    if shape in ("hatched", "faint"):
        pattern = {"shape": "/" if shape == "hatched" else ".", "fgcolor": muted, "bgcolor": page, "size": 6}
        return {"color": page, "pattern": {**pattern, "solidity": 0.35}, "line": line}
    return {"color": mix(colour, page, 0.22) if shape == "pale" else colour, "line": line}


def nothing(title: str, words: str, dark: bool) -> go.Figure:
    """Return a figure without data and the reason for it."""
    hidden = {"visible": False}
    return figure([], title, words, dark, note=words, height=120, xaxis=hidden, yaxis=hidden)


def _said(row: Mapping[str, Any], what: str, unit: str) -> str:
    between = f" ({_number(row['low'])} to {_number(row['high'])})" if what == "measured" and row["low"] else ""
    note = f"<br>{hover(row['note'])}" if row.get("note") else ""
    return f"{plain(row['label'])}:<br>{what} {_number(row[what])} {unit}{between}{note}"


def _values(groups: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the table of predictions and measurements: its head, and a row for each bar."""
    found = [[groups[0].get("what", ""), "predicted", "measured", "95 % interval", "law error"]]
    for group in groups:
        for row in group["rows"]:
            label = f"{row['label']}, {group['unit']}" if len(groups) > 1 else row["label"]
            between = f"{_number(row['low'])} to {_number(row['high'])}" if row["low"] is not None else "–"
            off = "–" if row["off"] is None else signed(row["off"])
            found.append([label, _number(row["predicted"]), _number(row["measured"]), between, off])
    return found


def _panes(
    groups: Sequence[Mapping[str, Any]],
    title: str,
    words: str,
    dark: bool,
    note: str,
    labels: Iterable[str],
    about: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Return a figure with a subplot per group: axes labelled, rows from the top, room for a legend of ``labels``."""
    from plotly.subplots import make_subplots

    # A single row has the room of two: plotly cannot draw a plot that its axis and legend leave no height.
    heights = [STEP * max(2, len(g["rows"])) * (1.5 if any(r.get("tags") for r in g["rows"]) else 1) for g in groups]
    # Neighbours with one scale share its title.
    titled = [k + 1 == len(groups) or groups[k + 1]["unit"] != group["unit"] for k, group in enumerate(groups)]
    around = AROUND if any(titled[:-1]) else AROUND - 18
    gaps = around * (len(groups) - 1)
    inner, below = sum(heights) + gaps, legend_room(labels)
    fig = make_subplots(
        figure=chart()(),
        rows=len(groups),
        cols=1,
        row_heights=heights,
        vertical_spacing=around / inner if gaps else 0,
        subplot_titles=[plain(g["title"]) for g in groups],
    )
    fig.update_annotations(x=0, xanchor="left", font={"size": 13, "weight": 600})
    for place, group in enumerate(groups, start=1):
        names = [plain(row["label"]) for row in group["rows"]]
        if titled[place - 1]:
            fig.update_xaxes(title_text=plain(group["unit"]), row=place, col=1)
        axis = {"ticktext": names, "tickvals": list(range(len(names))), "showgrid": False, "ticks": ""}
        beside = max(0, 2 - len(names)) / 2
        axis |= {"range": [len(names) - 0.5 + beside, -0.5 - beside], "title_text": plain(group.get("axis", ""))}
        fig.update_yaxes(**axis, row=place, col=1)
    fig.update_layout(figure([], title, words, dark, note=note, about=about).layout)
    top = fig.layout.margin.t + (22 if groups[0]["title"] else 0)
    return fig.update_layout(height=inner + top + below, margin={"t": top, "b": below})


def _off(row: Mapping[str, Any]) -> str:
    numbers = [_number(v) for v in (row["predicted"], row["measured"]) if v is not None]
    return " / ".join(numbers) + (f" ({signed(row['off'])})" if row.get("off") is not None else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _longest(texts) -> int:
    return max((len(text) for text in texts), default=0)
