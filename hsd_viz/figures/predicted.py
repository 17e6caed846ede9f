"""Figures of predictions on hardware that is not at hand."""

from __future__ import annotations

from typing import Any

from hsd_viz.figures.palette import HUES
from hsd_viz.figures.style import figure, go
from hsd_viz.stack import parse


def prediction(plan: Any, dark: bool = False) -> go.Figure:
    """Plot the speed-up over plain decoding by batch, a panel per context: the best stack of each kind. ``plan`` is the
    result of :func:`hsd_viz.predict`. Bands are its intervals.
    """
    contexts = list(dict.fromkeys(row.context for row in plan.rows))
    drawn = go.Figure()
    kinds = {"plain": "plain decoding", "database": "database", "one": "one draft model", "two": "hierarchy"}
    kinds["over"] = "database below drafts"
    hues = dict(zip(kinds, ("target", "context", "nano", "small", "statistics"), strict=True))
    styles = dict(zip(kinds, ("dot", "dash", "solid", "longdash", "dashdot"), strict=True))
    for k, context in enumerate(contexts, start=1):
        axis = "" if k == 1 else str(k)
        for kind, label in kinds.items():
            rows = [row for row in plan.rows if row.context == context and kind_of(row.stack) == kind]
            best = [max(found, key=lambda r: r.speedup_over_plain) for found in _by_batch(rows)]
            if not best:
                continue
            hue = HUES[hues[kind]]
            colour = hue.dark if dark else hue.light
            up = [r.speedup_over_plain_ci[1] - r.speedup_over_plain for r in best]
            down = [r.speedup_over_plain - r.speedup_over_plain_ci[0] for r in best]
            drawn.add_scatter(
                x=[r.batch for r in best], y=[r.speedup_over_plain for r in best], name=label, legendgroup=label,
                showlegend=k == 1, mode="lines+markers", line={"dash": styles[kind], "color": colour},
                xaxis=f"x{axis}", yaxis=f"y{axis}",
                error_y={"type": "data", "array": up, "arrayminus": down, "thickness": 1, "width": 3},
                text=[f"{r.stack}{'' if r.fits else ' (does not fit)'}" for r in best],
                hovertemplate="%{text}<br>batch %{x}: %{y:.2f} times plain decoding<extra></extra>",
            )  # fmt: skip
    names = {(f"xaxis{k}" if k > 1 else "xaxis"): context for k, context in enumerate(contexts, start=1)}
    axes: dict[str, Any] = {
        name: {
            "title": {"text": f"batch, context {context:,}"},
            "type": "log",
            "tickvals": [row.batch for row in plan.rows],
        }
        for name, context in names.items()
    }
    axes |= {name.replace("x", "y", 1): {"rangemode": "tozero"} for name in names}
    axes["yaxis"]["title"] = {"text": "speed, plain decoding = 1"}
    cards = f"{plan.tp} × {plan.gpu}" if plan.tp > 1 else plan.gpu
    return figure(
        list(drawn.data),
        f"Predicted: {', '.join(plan.models)} on {cards}",
        "speed-up over plain decoding by batch, of the best stack of each kind, one panel per context",
        dark,
        grid={"rows": 1, "columns": len(contexts), "pattern": "independent"},
        **axes,
    )


def kind_of(stack: str) -> str:
    """Return the kind of a stack: plain, database, one, two or over."""
    parsed = parse(stack)
    if parsed.bottom is not None:
        return "over" if parsed.drafts else "database"
    return ("plain", "one", "two")[min(2, len(parsed.drafts))]


def _by_batch(rows: list[Any]) -> list[list[Any]]:
    return [[r for r in rows if r.batch == b] for b in dict.fromkeys(r.batch for r in rows)]
