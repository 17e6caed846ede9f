"""Speed-ups with intervals: of a bench report, and of drafters that were replayed on a log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.report import Report, read_report
from hsd_viz.bench.verdict import COLOURS, kinds_of, speed_bars, speed_words, warnings
from hsd_viz.disk import read_limited
from hsd_viz.figures.bars import beside, nothing, spread, stacked
from hsd_viz.figures.palette import ink
from hsd_viz.figures.style import INKS, TWINS, figure, go

if TYPE_CHECKING:
    from hsd_viz.logs.report import ReplayReport

TWINS.update(COLOURS.values())


def speedup(
    report: Report | Mapping[str, Any] | str | Path, dark: bool = False, *, category: str | None = None
) -> go.Figure:
    """Plot the speed-up over plain decoding by stack, from a bench report, its data or its file.

    Values of five or more prompts have 95 % intervals; impossible ones are left out.

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
    keys = {
        kind: {"label": words, "light": COLOURS[kind][0], "dark": COLOURS[kind][1]}
        for kind, words in kinds_of(report.stacks).items()
    }
    lines, table = [], [["stack", "speed-up", "95 % interval", "with little repetition"]]
    for row in rows:
        between = f"{row.value.low:.2f} to {row.value.high:.2f}" if row.value.interval else ""
        hover = f"{row.value.value:.2f} times the speed of plain decoding"
        hover += f" (95 % interval {between})" if between else ""
        lines.append({"label": row.label, "parts": [(row.kind, row.value.value, hover)], "value": ""})
        second = "–" if row.second.value is None else f"{row.second.value:.2f}"
        table.append([row.label, f"{row.value.value:.2f}", between or "–", second])
    words = f"{speed_words(rows)} " + "; ".join(f"{row['label']} {row['parts'][0][2]}" for row in lines)
    doubts = " ".join(f"{line}." for line in warnings(report))
    note = f"{speed_words(rows)} {report.suite.name}, {report.processor or 'an unknown machine'}. {doubts}"
    values, ys = [row.value.value for row in rows], list(range(len(rows)))
    ends = [row.value.interval or (row.value.value, row.value.value) for row in rows]
    group = {"title": "", "unit": "speed, plain decoding = 1", "rows": lines}
    group["end"] = max(1.0, *(row.most() for row in rows)) * 1.02
    fig = stacked([group], keys, title, words, dark, note, {"table": table})
    strong, muted, _, page, *_ = INKS[dark]
    for y, row in enumerate(rows):
        if row.second.value is not None:
            box = {"x0": 0, "x1": row.second.value, "y0": y + 0.33, "y1": y + 0.45}
            fig.add_shape(type="rect", **box, fillcolor=muted, line_width=0)
    dots = go.Scatter(x=values, y=ys, mode="markers", hoverinfo="skip", showlegend=False)
    dots.update(marker={"size": 6, "color": strong, "line": {"color": page, "width": 1}})
    dots.update(error_x=spread(values, ends, dark) | {"width": 4})
    fig.add_traces([dots, beside([high for _, high in ends], ys, [f"  {value:.2f} ×" for value in values], dark)])
    fig.add_vline(x=1, line={"color": strong, "width": 1.5, "dash": "dash"})
    return fig.update_layout(margin={"r": 70})


def report_of(given: Report | Mapping[str, Any] | str | Path) -> Report:
    """Return a bench report, read from its data or its file. Raises: ValueError: if it is not one."""
    if isinstance(given, Report):
        return given
    if isinstance(given, str | Path):
        try:
            return read_report(read_limited(Path(given).expanduser()), str(given))
        except OSError as error:
            raise ValueError(f"{given} cannot be read: {error.strerror or error}") from None
    return read_report(json.dumps(given), "the data")


def replayed(report: ReplayReport, dark: bool = False) -> go.Figure:
    """Plot tokens per forward pass of each drafter of a :func:`hsd_viz.replay` report, with 95 % intervals."""
    muted = INKS[dark][1]
    rows = sorted(report.drafters, key=lambda row: row.mean_acceptance_length.value or 0)
    lengths, names = [row.mean_acceptance_length for row in rows], [row.name for row in rows]
    values = [length.value or 0.0 for length in lengths]
    ends = [length.interval or (length.value or 0.0,) * 2 for length in lengths]
    gains = [f"{row.speedup.value:.2f}×" if row.speedup.value else "–" for row in rows]
    error = spread(values, ends, dark) | {"type": "data", "symmetric": False}
    bar = go.Bar(orientation="h", y=names, x=values, width=0.62, error_x=error, customdata=gains, showlegend=False)
    bar.update(marker_color=[ink("context" if name.startswith("db") else "hd", dark) for name in names])
    bar.update(hovertemplate="%{y}: %{x:.2f} tokens per forward pass, predicted %{customdata}<extra></extra>")
    after = beside([high for _, high in ends], names, [f"  {gain}" for gain in gains], dark)
    said = ", ".join(f"{n} {v:.2f} (predicted {g})" for n, v, g in zip(names, values, gains, strict=True))
    line = {"color": muted, "dash": "dot"}
    axes = {
        "xaxis": {"title": {"text": "tokens per forward pass of the target"}, "range": [0, 1.04 * max(map(max, ends))]},
        "shapes": [{"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1, "line": line}],
    }
    note = "Line: plain decoding. After a bar: predicted speed-up."
    sure = ", with 95 % intervals over requests" if any(length.interval for length in lengths) else ""
    title, height = f"Drafters{sure}", 110 + 30 * len(rows)
    fig = figure([bar, after], title, said, dark, note=note, height=height, **axes)
    return fig.update_layout(margin={"r": 64})
