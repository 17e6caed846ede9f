"""What drafters would have brought on a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hsd_viz.figures.palette import ink
from hsd_viz.figures.style import INKS, figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from hsd_viz.logs.report import ReplayReport


def replayed(report: ReplayReport, dark: bool = False) -> go.Figure:
    """Plot tokens per forward pass of each drafter of a :func:`hsd_viz.replay` report, with 95 % intervals."""
    import plotly.graph_objects as go

    muted = INKS[dark][1]
    rows = sorted(report.drafters, key=lambda row: row.mean_acceptance_length.value or 0)
    lengths = [row.mean_acceptance_length for row in rows]
    values = [length.value or 0.0 for length in lengths]
    ends = [length.interval or (length.value or 0.0,) * 2 for length in lengths]
    error = {
        "type": "data",
        "symmetric": False,
        "array": [high - value for (_, high), value in zip(ends, values, strict=True)],
        "arrayminus": [value - low for (low, _), value in zip(ends, values, strict=True)],
        "color": INKS[dark][0],
        "thickness": 1.5,
    }
    gains = [f"{row.speedup.value:.2f}×" if row.speedup.value else "–" for row in rows]
    names = [row.name for row in rows]
    bar = go.Bar(orientation="h", y=names, x=values, width=0.62, error_x=error, customdata=gains, showlegend=False)
    bar.update(marker_color=[ink("context" if name.startswith("db") else "hd", dark) for name in names])
    bar.update(hovertemplate="%{y}: %{x:.2f} tokens per forward pass, predicted %{customdata}<extra></extra>")
    after = go.Scatter(y=names, x=[high for _, high in ends], mode="text", text=[f"  {gain}" for gain in gains])
    after.update(textposition="middle right", textfont={"color": muted}, hoverinfo="skip", showlegend=False)
    after.update(cliponaxis=False)
    said = ", ".join(f"{n} {v:.2f} (predicted {g})" for n, v, g in zip(names, values, gains, strict=True))
    line = {"color": muted, "dash": "dot"}
    axes = {
        "xaxis": {"title": {"text": "tokens per forward pass of the target"}, "range": [0, 1.04 * max(map(max, ends))]},
        "shapes": [{"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1, "line": line}],
    }
    note = "Line: plain decoding. After a bar: predicted speed-up."
    title, height = "Drafters, with 95 % intervals over requests", 110 + 30 * len(rows)
    fig = figure([bar, after], title, said, dark, note=note, height=height, **axes)
    return fig.update_layout(margin={"r": 64})
