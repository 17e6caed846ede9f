"""Figures over one trace: plain functions that return ``plotly.graph_objects.Figure``.

Every figure has a fixed number of traces, one template per theme, and no button that sends data. A text description for
screen readers is in ``layout.meta["words"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hsd_viz.figures.palette import HUES, ink, label
from hsd_viz.trace import Trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Plotly settings: no logo, and no button that uploads the figure.
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
}
HEIGHT = 300
#: Decoding time without a call: sampling, verification, draft trees, bookkeeping.
BETWEEN = "between calls"
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
_INKS = {False: ("#1f2328", "#57606a", "#e3e7ec"), True: ("#e8eaed", "#a2abb6", "#33393f")}


def template(dark: bool = False) -> go.layout.Template:
    """Return the light or dark template; also registered as ``hsd_light`` and ``hsd_dark``."""
    import plotly.graph_objects as go
    import plotly.io as pio

    name = "hsd_dark" if dark else "hsd_light"
    if name not in pio.templates:
        strong, muted, line = _INKS[dark]
        axis = {"gridcolor": line, "linecolor": line, "zerolinecolor": line, "tickcolor": line, "automargin": True}
        axis |= {"tickfont": {"color": muted}, "title": {"font": {"size": 12, "color": muted}, "standoff": 8}}
        pio.templates[name] = go.layout.Template(
            layout={
                "font": {"family": _FONT, "size": 12, "color": strong},
                "title": {
                    "font": {"size": 16, "weight": 650, "color": strong},
                    "x": 0,
                    "xref": "container",
                    "y": 0.97,
                    "yanchor": "top",
                },
                "paper_bgcolor": "rgba(0,0,0,0)",
                "plot_bgcolor": "rgba(0,0,0,0)",
                "margin": {"l": 8, "r": 8, "t": 44, "b": 8},
                "autosize": True,
                "xaxis": axis,
                "yaxis": axis,
                "bargap": 0.28,
                "hoverlabel": {"font": {"family": _FONT, "size": 12}},
                "legend": {
                    "orientation": "h",
                    "x": 0,
                    "yref": "container",
                    "y": 0,
                    "yanchor": "bottom",
                    "font": {"size": 12},
                },
                # It would cover the title on a narrow page.
                "modebar": {
                    "bgcolor": "rgba(33,33,33,0.92)" if dark else "rgba(255,255,255,0.92)",
                    "color": muted,
                    "activecolor": strong,
                },
            }
        )
    return pio.templates[name]


def by_source(trace: Trace, dark: bool = False) -> go.Figure:
    """Plot emitted tokens by source."""
    import plotly.graph_objects as go

    counts: dict[str, int] = {}
    for token in trace.token_rows:
        counts[token.source] = counts.get(token.source, 0) + 1
    rows = sorted(counts.items(), key=lambda row: row[1])
    total = max(1, len(trace.token_rows))
    bar = go.Bar(
        orientation="h",
        y=[label(source) for source, _ in rows],
        x=[n for _, n in rows],
        marker_color=[ink(source, dark) for source, _ in rows],
        width=_thickness(rows),
        text=[f"{n} ({n / total:.0%})" for _, n in rows],
        textposition="auto",
        hovertemplate="%{y}: %{x} tokens<extra></extra>",
        cliponaxis=False,
    )
    words = ", ".join(f"{label(source)} {n} ({n / total:.0%})" for source, n in reversed(rows))
    axis = {"title": {"text": "emitted tokens"}, "rangemode": "tozero"}
    return _figure([bar], "Tokens by source", words, dark, xaxis=axis, showlegend=False)


def acceptance(trace: Trace, dark: bool = False) -> go.Figure:
    """Plot drafted and accepted tokens per target round, and the running mean acceptance length."""
    import plotly.graph_objects as go

    rounds = target_rounds(trace)
    emitted: dict[int, int] = {}
    for token in trace.token_rows:
        emitted[token.round] = emitted.get(token.round, 0) + 1
    running, total = [], 0
    for place, row in enumerate(rounds, start=1):
        total += emitted.get(row.id, 0)
        running.append(total / place)
    x = list(range(1, len(rounds) + 1))
    strong, muted, _ = _INKS[dark]
    quiet = "rgba(162,171,182,0.38)" if dark else "rgba(87,96,106,0.28)"
    bars = [
        go.Bar(name="drafted", x=x, y=[r.drafted for r in rounds], marker_color=quiet),
        go.Bar(name="accepted", x=x, y=[r.accepted for r in rounds], marker_color=ink("context", dark), width=0.5),
        go.Scatter(name="mean acceptance length", x=x, y=running, mode="lines", line={"color": strong, "width": 2}),
        go.Scatter(
            name="plain decoding", x=x, y=[1.0] * len(x), mode="lines", line={"color": muted, "width": 1, "dash": "dot"}
        ),
    ]
    axes = {
        "xaxis": {"title": {"text": "round"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "tokens"}, "rangemode": "tozero"},
        "margin": {"b": 78},  # room for the legend below the axis
    }
    drafted, accepted = [r.drafted for r in rounds], [r.accepted for r in rounds]
    words = (
        f"rounds {len(rounds)}, tokens drafted {sum(drafted)}, accepted {sum(accepted)}; "
        f"maximum per round: drafted {max(drafted, default=0)}, accepted {max(accepted, default=0)}; "
        f"final mean acceptance length {running[-1] if running else 0:.2f}, plain decoding 1.00"
    )
    return _figure(
        bars, "Drafted and accepted tokens per round", words, dark, barmode="overlay", hovermode="x unified", **axes
    )


def time_spent(trace: Trace, dark: bool = False) -> go.Figure:
    """Plot decoding time by level: forward passes and look-ups, and time between calls.

    Sums to the decode without prefill.
    """
    import plotly.graph_objects as go

    sums: dict[tuple[str, str], int] = {}
    for call in trace.call_rows:
        if call.kind != "prefill":
            key = (call.name, call.kind)
            sums[key] = sums.get(key, 0) + call.duration_ns
    rows = sorted(sums.items(), key=lambda row: row[1])
    tokens = max(1, len(trace.token_rows))
    rest = (trace.metrics()["seconds"] or 0.0) * 1e9 - sum(sums.values())
    rows = [((BETWEEN, ""), max(0, round(rest))), *rows] if rows else rows
    lookup = HUES["baseline"].dark if dark else HUES["baseline"].light
    millis = [ns / 1e6 / tokens for _, ns in rows]
    bar = go.Bar(
        orientation="h",
        y=[f"{name}: {kind}" if kind else name for (name, kind), _ in rows],
        x=millis,
        marker_color=[ink(name, dark) if kind in ("verify", "draft") else lookup for (name, kind), _ in rows],
        width=_thickness(rows),
        text=[f"{ms:.3f}" if ms < 0.1 else f"{ms:.2f}" for ms in millis],
        textposition="auto",
        hovertemplate="%{y}: %{x:.4f} ms per token<extra></extra>",
        cliponaxis=False,
    )
    axis = {"title": {"text": "ms per emitted token"}, "rangemode": "tozero"}
    told = (f"{name} {kind}".strip() + f" {ms:.3f}" for ((name, kind), _), ms in zip(rows, millis, strict=True))
    words = f"in ms per emitted token: {', '.join(told)}"
    return _figure([bar], "Decoding time", words, dark, xaxis=axis, showlegend=False)


def target_rounds(trace: Trace) -> list:
    """Return the target's rounds in order."""
    return [r for r in trace.round_rows if r.parent is None]


def _thickness(rows: list) -> float:
    """Return a bar width that looks the same for any number of bars."""
    return min(0.72, 0.18 * len(rows))


def _figure(data: list, title: str, words: str, dark: bool, **layout: Any) -> go.Figure:
    import plotly.graph_objects as go

    meta = {"words": f"{title}: {words}."}
    return go.Figure(
        data=data,
        layout={"template": template(dark), "height": HEIGHT, "title": {"text": title}, "meta": meta, **layout},
    )
