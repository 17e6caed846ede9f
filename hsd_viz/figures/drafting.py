"""Figures of drafting from databases, of suites of prompts, and of bench reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.report import Report, read_report
from hsd_viz.bench.verdict import COLOURS, kinds_of, speed_bars, speed_words, warnings
from hsd_viz.figures.bars import nothing, stacked
from hsd_viz.figures.drafting_bars import ablation_spec, category_spec, order_spec
from hsd_viz.figures.plane_specs import acceptance_plane, speed_plane_spec, temperature_spec
from hsd_viz.figures.planes import plane
from hsd_viz.figures.style import INKS, TWINS

if TYPE_CHECKING:
    import plotly.graph_objects as go

TWINS.update(COLOURS.values())


def database_ablation(
    data: Any, dark: bool = False, *, temperature: float | None = None, beside: bool = True, source: str = ""
) -> go.Figure:
    """Plot tokens per target forward pass by source, for every database subset.

    ``data`` is an ablation, its file, or traces; ``beside`` adds the published figures on their own scale.
    """
    return _sources(ablation_spec(data, temperature=temperature, beside=beside, source=source), dark)


def database_orders(
    data: Any, dark: bool = False, *, temperature: float | None = None, beside: bool = True, source: str = ""
) -> go.Figure:
    """Plot all three databases in each of the six orders; arguments as in :func:`database_ablation`."""
    return _sources(order_spec(data, temperature=temperature, beside=beside, source=source), dark)


def by_category(
    data: Any,
    dark: bool = False,
    *,
    stacks: Sequence[str] | None = None,
    first: Sequence[str] | int | None = 6,
    rule: str = "",
    temperature: float | None = None,
    words: Mapping[str, str] | None = None,
) -> go.Figure:
    """Plot mean acceptance length by kind of text for ``stacks`` of a bench report or an ablation.

    By default the ``first`` stacks of each kind of text by speed-up (a number, or names); ``None``: all stacks.
    ``rule`` describes that selection, ``words`` add a note to a kind of text.
    """
    first = None if stacks else first
    return _sources(
        category_spec(data, stacks=stacks, first=first, rule=rule, temperature=temperature, words=words), dark
    )


def drafting_plane(
    data: Any, dark: bool = False, *, temperature: float | None = None, beside: bool = True, source: str = ""
) -> go.Figure:
    """Plot drafting latency per round against the share of tokens from multi-token rounds, one mark per method.

    ``data`` is an ablation, its file, or traces; ``beside`` adds the published figures.
    """
    return plane(acceptance_plane(data, temperature=temperature, beside=beside, source=source), dark)


def speed_plane(data: Any, dark: bool = False, *, temperature: float | None = None, source: str = "") -> go.Figure:
    """Plot acceptance length over drafting latency, with curves of equal speed by the HD authors' cost model.

    ``data`` is a bench report, an ablation, or traces with a plain run.
    """
    return plane(speed_plane_spec(data, temperature=temperature, source=source), dark)


def temperature_curves(
    data: Any,
    dark: bool = False,
    *,
    metric: str = "length",
    stacks: Sequence[str] | None = None,
    beside: bool = True,
    source: str = "",
) -> go.Figure:
    """Plot acceptance length or speed-up (``metric="speedup"``) over temperature, one line per method."""
    return plane(temperature_spec(data, metric=metric, stacks=stacks, beside=beside, source=source), dark)


def speedup(
    report: Report | Mapping[str, Any] | str | Path, dark: bool = False, *, category: str | None = None
) -> go.Figure:
    """Plot the speed-up over plain decoding by stack with 95 % intervals, from a bench report, its data or its file.

    ``category`` limits it to one kind of text. Raises: ValueError: if it is not a report or has no such category.
    """
    report = report_of(report)
    known = list(report.suite.categories)
    if category is not None and category not in known:
        raise ValueError(f"no category '{category}': use {', '.join(known)}")
    rows = speed_bars(report.stacks, category)
    title = "Speed-up over plain decoding" + (f": {category}" if category else "")
    if not rows:
        return nothing(title, "No stack with a speed-up was measured.", dark)
    kinds = kinds_of(report.stacks)
    keys = {
        kind: {"label": words, "light": COLOURS[kind][0], "dark": COLOURS[kind][1]} for kind, words in kinds.items()
    }
    lines = []
    for row in rows:
        between = f" (95 % interval {row.value.low:.2f} to {row.value.high:.2f})" if row.value.interval else ""
        hover = f"{row.value.value:.2f} times the speed of plain decoding{between}"
        lines.append({"label": row.label, "parts": [(row.kind, row.value.value, hover)], "value": ""})
    words = f"{speed_words(rows)} " + "; ".join(f"{row['label']} {row['parts'][0][2]}" for row in lines)
    doubts = " ".join(f"{line}." for line in warnings(report))
    end = max(1.0, *(row.value.high or row.value.value for row in rows))
    group = {"title": "", "unit": "speed, plain decoding = 1", "rows": lines, "end": end * 1.02}
    note = f"{speed_words(rows)} {report.suite.name}, {report.processor or 'an unknown machine'}. {doubts}"
    table = [["stack", "speed-up", "95 % interval", "with little repetition"]]
    for row in rows:
        spread = f"{row.value.low:.2f} to {row.value.high:.2f}" if row.value.interval else "–"
        second = "–" if row.second.value is None else f"{row.second.value:.2f}"
        table.append([row.label, f"{row.value.value:.2f}", spread, second])
    fig = stacked([group], keys, title, words, dark, note, {"table": table})
    return _intervals(fig, rows, dark)


def report_of(given: Report | Mapping[str, Any] | str | Path) -> Report:
    """Return a bench report, read from its data or its file. Raises: ValueError: if it is not one."""
    if isinstance(given, Report):
        return given
    if isinstance(given, str | Path):
        try:
            return read_report(Path(given).expanduser().read_text(encoding="utf-8"), str(given))
        except OSError as error:
            raise ValueError(f"{given} cannot be read: {error.strerror or error}") from None
    return read_report(json.dumps(given), "the data")


def _intervals(fig: go.Figure, rows: Sequence[Any], dark: bool) -> go.Figure:
    """Add the intervals, the values, the outputs with little repetition, and the line of plain decoding."""
    import plotly.graph_objects as go

    ink, muted, _, page, *_ = INKS[dark]
    for y, row in enumerate(rows):
        if row.second.value is not None:
            fig.add_shape(
                type="rect", x0=0, x1=row.second.value, y0=y + 0.33, y1=y + 0.45, fillcolor=muted, line_width=0
            )
    spread = [row.value.interval or (row.value.value, row.value.value) for row in rows]
    dots = go.Scatter(x=[row.value.value for row in rows], y=list(range(len(rows))), mode="markers", hoverinfo="skip")
    dots.update(marker={"size": 6, "color": ink, "line": {"color": page, "width": 1}}, showlegend=False)
    highs = [high - row.value.value for row, (_, high) in zip(rows, spread, strict=True)]
    lows = [row.value.value - low for row, (low, _) in zip(rows, spread, strict=True)]
    dots.update(error_x={"array": highs, "arrayminus": lows, "color": ink, "thickness": 1.5, "width": 4})
    after = go.Scatter(x=[high for _, high in spread], y=list(range(len(rows))), mode="text", showlegend=False)
    after.update(text=[f"  {row.value.value:.2f} ×" for row in rows], textposition="middle right", hoverinfo="skip")
    fig.add_traces([dots, after.update(textfont={"color": muted}, cliponaxis=False)])
    fig.add_vline(x=1, line={"color": ink, "width": 1.5, "dash": "dash"})
    return fig.update_layout(margin={"r": 70})


def _sources(spec: Mapping[str, Any], dark: bool) -> go.Figure:
    """Return stacked bars of tokens by source from the spec of a table."""
    columns = spec["columns"]
    groups = []
    for group in spec["groups"]:
        rows = [
            {"label": row["label"], "parts": row["parts"], "value": " · ".join(row["cells"])} for row in group["rows"]
        ]
        if rows:
            groups.append({**group, "rows": rows})
    keys = {key: dict(hue) for key, hue in spec["hues"].items()}
    listed = [f"{g['title']}: " + "; ".join(f"{r['label']} {r['value']}" for r in g["rows"]) for g in groups]
    note = f"After each bar: {' · '.join(columns)}. {spec['source']}"
    words = f"{spec['text']} {'. '.join(listed)}. {spec['source']}"
    about = {"text": spec["text"], "table": _values(spec)}
    return stacked(groups, keys, spec["title"], words, dark, note, about)


def _values(spec: Mapping[str, Any]) -> list[list[str]]:
    """Return all rows as a table; those of several groups are named after them."""
    several = len(spec["groups"]) > 1
    found = [[spec["groups"][0]["what"], *spec["columns"]]]
    for group in spec["groups"]:
        for row in (*group["rows"], *group.get("more", ())):
            cells = row["cells"] if "columns" not in group else ["–"] * len(spec["columns"])
            found.append([f"{group['title']}: {row['label']}" if several else row["label"], *cells])
    return found
