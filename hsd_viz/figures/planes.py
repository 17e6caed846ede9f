"""Points, curves and heat maps on two axes, drawn from plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hsd_viz.figures.style import INKS, figure, go, hover, legend_room, mix, plain, signed

#: Of each kind of point: plotly's symbol, size, and whether it is hollow.
SHAPES = {
    "strong": ("circle", 14, False),
    "second": ("diamond", 14, False),
    "plain": ("circle", 10, True),
    "there": ("square", 11, True),
    "best": ("star", 16, False),
    "shortest path": ("diamond", 24, True),
    "measured": ("circle", 11, True),
    "here": ("circle-cross", 18, True),
    "model": ("square", 11, False),
}
#: Names of the marks of a heat map.
MARKS = {
    "best": "predicted minimum",
    "shortest path": "polynomial selection",
    "measured": "measured, in ms",
    "here": "your setting",
    "model": "a calibrated model",
}
#: Assumed pixels of the plot area, to place labels; a figure adapts to its page.
WIDE, HIGH = 640.0, 300.0
#: Pixels between the lines of a column of labels, and of the height of a figure.
LINE, HEIGHT = 14, 460
HOVER = "%{customdata}<extra></extra>"


#: A label beside its point.
BESIDE = {"xanchor": "left", "xshift": 11}


def axis(label: str, low: float, high: float, ticks: Sequence[float], words: Callable = str) -> dict[str, Any]:
    """Return the axis of a spec."""
    return {"label": label, "range": [low, high], "ticks": [[t, words(t)] for t in ticks]}


def mark(x: float, y: float, kind: str, text: str = "", words: str = "") -> dict[str, Any]:
    """Return a mark of a spec: ``text`` is its label, ``words`` describe it."""
    return {"x": x, "y": y, "kind": kind, "text": text, "words": words}


def plane(spec: Mapping[str, Any], dark: bool = False) -> go.Figure:
    """Return points by kind, lines and curves of equal value; ``spec`` is that of a plane or a curve figure."""
    _, muted, _, _, accent, _ = INKS[dark]
    names, data = dict(spec.get("legend", ())), []
    for curve in spec.get("lines", ()):
        xs, ys = zip(*curve["points"], strict=True)
        colour = accent if curve["kind"] in ("strong", "law") else muted
        dash = "dot" if curve["kind"] in ("there", "reference") else "solid"
        line = {"color": colour, "width": 2 if colour == accent else 1.5, "dash": dash}
        shown = {"mode": "lines+markers", "marker": {"size": 7}} if curve["kind"] == "law" else {"mode": "lines"}
        phrase = curve.get("phrase", "")
        labelled = {"customdata": [hover(phrase.format(x=x, v=f"{y:.2f}")) for x, y in curve["points"]]}
        over = {**labelled, "hovertemplate": HOVER} if phrase else {"hoverinfo": "skip"}
        label = {"name": curve.get("label", ""), "showlegend": bool(curve.get("label"))}
        data.append(go.Scatter(x=xs, y=ys, line=line, **shown, **over, **label))
    data += marks(spec.get("points") or spec.get("marks") or (), names, dark)
    shown_names = [trace.name for trace in data if trace.showlegend is not False]
    fig, below = _figure(data, _words(spec), spec, dark), legend_room(shown_names)
    for point in spec.get("points", ()):
        _write(fig, spec, point["x"], point["y"], point["label"], BESIDE)
    return fig.update_layout(margin={"b": below, "r": 130 if spec.get("aligned") else 16}, hovermode="closest")


def heat(spec: Mapping[str, Any], dark: bool = False) -> go.Figure:
    """Return a heat map with labelled contours and marks."""
    ink, _, _, page, *_ = INKS[dark]
    cells, names = spec["cells"], {m["kind"]: MARKS[m["kind"]] for m in spec["marks"]}
    data: list[Any] = [_cells(cells, spec, dark)]
    step = spec["contours"]["step"]
    ends = [f(v / step) * step for f, v in zip((math.ceil, math.floor), _ends(cells), strict=True)]
    size = {"start": ends[0], "end": ends[1], "size": step, "labelformat": spec["contours"]["form"], "showlabels": True}
    data.append(_contours(cells, {**size, "labelfont": {"size": 11, "color": ink}}, {"color": ink, "width": 1}))
    if spec.get("even") and min(map(min, cells["values"])) < 0 < max(map(max, cells["values"])):
        data.append(_contours(cells, {"start": 0, "end": 0, "size": 1}, {"color": ink, "width": 2.5}))
        data[-1].update(name=spec["even"], showlegend=True)
    data += marks(spec["marks"], names, dark)
    words = f"{spec.get('text', '')} {'; '.join(m['words'] for m in spec['marks'] if m['words'])}. {spec['source']}"
    fig, below = _figure(data, words.strip(), spec, dark), legend_room(names.values())
    fig.update_xaxes(showgrid=False).update_yaxes(showgrid=False)
    for region in spec.get("regions", ()):
        _write(fig, spec, region["x"], region["y"], region["text"], {"font": {"weight": 650}})
    for mark in spec["marks"]:
        _write(fig, spec, mark["x"], mark["y"], mark["text"], {**BESIDE, "bgcolor": page, "borderpad": 1})
    return fig.update_layout(margin={"b": below, "r": 16})


def _figure(data: list, words: str, spec: Mapping[str, Any], dark: bool) -> go.Figure:
    """Return the figure of a spec with its axes, and what a page writes beside it."""
    about = {name: spec[name] for name in ("text", "table", "verdict", "picks") if spec.get(name)}
    note = spec["source"]
    fig = figure(data, spec["title"], words, dark, note=note, height=HEIGHT, about=about, **axes(spec))
    fig.spec = spec
    return fig


def marks(points: Sequence[Mapping[str, Any]], names: Mapping[str, str], dark: bool) -> list:
    """Return one trace per kind of point; each kind has its own shape."""
    ink, muted, _, page, accent, _ = INKS[dark]
    found = []
    for kind in dict.fromkeys([*(k for k in names if k in SHAPES), *(p["kind"] for p in points)]):
        some = [p for p in points if p["kind"] == kind]
        if not some:
            continue
        symbol, size, hollow = SHAPES[kind]
        colour = accent if kind in ("strong", "second") else muted if kind in ("plain", "there") else ink
        fill = page if hollow and kind != "shortest path" else colour
        marker = {"symbol": symbol, "size": size, "color": fill, "line": {"color": colour, "width": 2}}
        if kind in ("shortest path", "here"):
            marker |= {"symbol": f"{symbol}-open", "color": ink}
        elif not hollow:
            marker["line"] = {"color": page, "width": 1.5}
        said = [hover(p.get("words") or f"{names.get(kind, kind)}: {p['y']:.3g}") for p in some]
        scatter = go.Scatter(x=[p["x"] for p in some], y=[p["y"] for p in some], mode="markers", marker=marker)
        scatter.update(name=names.get(kind, kind), customdata=said, hovertemplate=HOVER)
        found.append(scatter)
    return found


def axes(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return plotly's axes for those of a spec."""
    found = {}
    for name in "xy":
        axis = spec[name]
        low, high = axis["range"]
        ticks = [(at, words) for at, words in axis["ticks"] if low <= at <= high]
        values = {"tickvals": [at for at, _ in ticks], "ticktext": [words for _, words in ticks]}
        shown = {"title": {"text": plain(axis["label"])}, "range": [low, high], "zeroline": False}
        found[f"{name}axis"] = shown | values
    return found


def round_step(least: float) -> float:
    """Return the smallest step of at least this size that is 1, 2 or 5 times a power of 10."""
    unit = 10 ** math.floor(math.log10(least))
    return unit * next(k for k in (1, 2, 5, 10) if k * unit >= least)


def _cells(cells: Mapping[str, Any], spec: Mapping[str, Any], dark: bool) -> go.Heatmap:
    """Return the cells: the best time is darkest; a gain is blue, a loss orange."""
    _, muted, _, page, accent, loss = INKS[dark]
    gain, end = cells["scale"] == "gain", cells["end"]
    steps = [k / 12 for k in range(13)]
    if gain:
        z = cells["values"]
        scale = [[t, mix(accent if t > 0.5 else loss, page, 0.62 * abs(2 * t - 1))] for t in steps]
        ticks, span = [-end, 0, end], (-end, end)
        words = [signed(-end), "0", signed(end)]
    else:
        z = [[math.log(v / cells["best"]) for v in row] for row in cells["values"]]
        scale = [[t, mix(accent, page, 0.66 * (1 - t) ** 1.4)] for t in steps]
        span = (0.0, math.log(end))
        ticks = [span[1] * k / 3 for k in range(4)]
        words = [f"{cells['best'] * math.exp(t):.3g}" for t in ticks]
    xs, ys = (spec[name].get("values", cells[name]) for name in "xy")
    value = signed if gain else (lambda v: f"{v:.3g}")
    text = [
        [
            hover(cells["phrase"].format(x=xs[c], y=ys[r], v=value(v), r="" if gain else f"{v / cells['best']:.2f}"))
            for c, v in enumerate(row)
        ]
        for r, row in enumerate(cells["values"])
    ]
    bar = {"tickvals": ticks, "ticktext": words, "thickness": 12, "outlinewidth": 0, "tickfont": {"color": muted}}
    bar |= {
        "title": {"text": "gain in tokens/s" if gain else "ms per token", "side": "right", "font": {"color": muted}}
    }
    found = go.Heatmap(x=cells["x"], y=cells["y"], z=z, zmin=span[0], zmax=span[1], colorscale=scale, colorbar=bar)
    return found.update(text=text, hovertemplate="%{text}<extra></extra>")


def _ends(cells: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest value that has a contour: none beyond the scale of a time."""
    values = [v for row in cells["values"] for v in row]
    return min(values), max(values) if cells["scale"] == "gain" else cells["best"] * cells["end"]


def _contours(cells: Mapping[str, Any], contours: Mapping[str, Any], line: Mapping[str, Any]) -> go.Contour:
    found = go.Contour(x=cells["x"], y=cells["y"], z=cells["values"], contours={**contours, "coloring": "none"})
    return found.update(line={**line, "smoothing": 0}, showscale=False, showlegend=False, hoverinfo="skip")


def _write(fig: go.Figure, spec: Mapping[str, Any], x: float, y: float, text: str, place: Mapping[str, Any]) -> None:
    if text:
        fig.add_annotation(text=plain(text), showarrow=False, x=x, y=y, **place)


def _words(spec: Mapping[str, Any]) -> str:
    """Return what a figure shows: its text, its table and its source."""
    head, *rows = spec.get("table") or [[]]
    said = ["; ".join(f"{name} {value}" for name, value in zip(head[1:], row[1:], strict=True)) for row in rows]
    listed = ". ".join(f"{row[0]}: {words}" for row, words in zip(rows, said, strict=True))
    verdict = spec.get("verdict", {}).get("text", "")
    return " ".join(f"{verdict} {spec.get('text', '')} {listed + '.' if listed else ''} {spec['source']}".split())
