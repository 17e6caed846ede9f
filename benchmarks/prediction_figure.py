"""Predicted against published figures, as a chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.published import NAMES

#: Lines of a chart: the prediction over the published figure, and how the line is drawn.
GUIDES = ((1.0, "solid"), (1.35, "dot"), (0.65, "dot"))


def figure(data: dict[str, Any]) -> Any:
    """Plot predicted against published step times, and predicted against published speed-ups."""
    from plotly.subplots import make_subplots

    from hsd_viz.figures import template

    panels = make_subplots(1, 2, subplot_titles=("ms per step", "speed-up of EAGLE-3 (SpecBundle)"))
    steps: dict[str, list[dict]] = defaultdict(list)
    for row in data["held_aside"]:
        if not row["per_token"]:
            steps[NAMES[row["source"]]].append(row)
    speed_ups: dict[str, list[dict]] = defaultdict(list)
    for row in data["speed_ups_held_aside"]:
        speed_ups[f"{row['model']}, H200"].append(row)
    symbols = _symbols()
    for column, published, groups in ((1, "ms", steps), (2, "speedup", speed_ups)):
        for name, rows in groups.items():
            panels.add_trace(_points(name, next(symbols), rows, published), row=1, col=column)
    for column, published, groups in ((1, "ms", steps), (2, "speedup", speed_ups)):
        values: list[float] = []
        for rows in groups.values():
            values += [row[published] for row in rows]
        _add_guides(panels, column, min(values) * 0.8, max(values) * 1.2)
    logarithmic = {"type": "log", "tickvals": (3, 10, 30, 100)}
    panels.update_xaxes(logarithmic, title="published", row=1, col=1)
    panels.update_yaxes(logarithmic, title="predicted", row=1, col=1)
    panels.update_xaxes(type="linear", title="published", row=1, col=2)
    panels.update_yaxes(type="linear", title="predicted", row=1, col=2)
    title = {"text": "Predicted and published figures, held aside (dotted: ±35 %)"}
    return panels.update_layout(template=template(False), title=title, margin={"t": 90})


def _symbols() -> Iterator[str]:
    """Yield the symbol of each group: there are three colours, and a symbol per three groups."""
    for symbol in ("circle", "diamond", "square", "cross", "x"):
        yield from (symbol, symbol, symbol)


def _points(name: str, symbol: str, rows: Sequence[dict], published: str) -> dict[str, Any]:
    """Return a scatter plot of predicted over published figures."""
    points: dict[str, Any] = {
        "type": "scatter",
        "x": [],
        "y": [],
        "mode": "markers",
        "text": [],
        "name": name,
        "marker": {"symbol": symbol},
    }
    for row in rows:
        points["x"].append(row[published])
        points["y"].append(row["predicted"])
        points["text"].append(f"{row['model']}, batch {row['batch']}")
    return points


def _add_guides(panels: Any, column: int, low: float, high: float) -> None:
    """Draw the line of equal figures and those of the limits of the error."""
    for factor, dash in GUIDES:
        panels.add_scatter(
            x=[low, high],
            y=[factor * low, factor * high],
            mode="lines",
            line={"dash": dash, "width": 1, "color": "#57606a"},
            showlegend=False,
            row=1,
            col=column,
        )
