"""A plotly figure as a small SVG, without a browser: lines, points, bars and heat maps. The same figure gives the same
text on every machine.

For pages without scripts, such as GitHub's and exported notebooks; :func:`hsd_viz.figures.save` draws every figure
exactly, with a browser.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hsd_viz.card import escape

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Colours of traces that name none: distinguishable, and readable on light and dark pages.
COLOURS = ("#2f81f7", "#db6d28", "#2da44e", "#a371f7", "#8b949e")
WIDTH, HEIGHT = 760, 400
_TOP, _RIGHT, _CHARACTER = 64, 20, 6.6
_DASHES = {"dash": ' stroke-dasharray="7 5"', "dot": ' stroke-dasharray="2 4"'}
#: Heat maps run from the first to the last colour.
_HEAT = ((68, 1, 84), (49, 104, 142), (53, 183, 121), (253, 231, 37))


def svg(figure: go.Figure, *, ink: str = "#1f2328", paper: str = "#ffffff") -> str:
    """Return a figure as SVG in the colours ``ink`` (text) and ``paper`` (background). Raises: ValueError: if the
    figure has a kind of trace other than scatter, bar and heatmap.
    """
    traces = list(figure.data)
    if unknown := next((t.type for t in traces if t.type not in ("scatter", "bar", "heatmap")), None):
        raise ValueError(f"a figure with {unknown} cannot be drawn as SVG here: use hsd_viz.figures.save")
    drawn = _Drawing(figure, traces).parts()
    text = escape(figure.layout.title.text or "Figure")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{ink}" stroke="none" style="max-width:{WIDTH}px">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{paper}"/>{"".join(drawn)}</svg>'
    )


class _Axis:
    """A scale from values to pixels: of numbers, or of categories."""

    def __init__(
        self, values: Sequence[Any], pixels: tuple[float, float], layout: Any, zero: bool, room: float = 0.0
    ) -> None:
        self.pixels, self.title = pixels, layout.title.text or ""
        self.percent = layout.tickformat == ".0%"
        self.names = list(dict.fromkeys(values)) if layout.type == "category" or _texts(values) else []
        if self.names:
            self.low, self.high = -0.5, len(self.names) - 0.5
            self.ticks: list[tuple[float, str]] = [(n, str(name)) for n, name in enumerate(self.names)]
            return
        numbers = [float(v) for v in values] or [0.0, 1.0]
        low, high = min(numbers), max(numbers)
        if zero or layout.rangemode == "tozero" or 0 <= low < 0.3 * high:
            low, high = min(low, 0.0), max(high, 0.0)
        margin = max(0.04 * ((high - low) or 1.0), room)
        self.low, self.high = low - (0 if low == 0 else margin), high + margin
        step = float(layout.dtick or 0) or _step((high - low) or 1.0)
        first = math.ceil(self.low / step - 1e-9)
        self.ticks = [(n * step, self._words(n * step)) for n in range(first, int(self.high / step + 1e-9) + 1)]

    def _words(self, value: float) -> str:
        return f"{value:.0%}" if self.percent else f"{value:g}" if abs(value) > 1e-12 else "0"

    def __call__(self, value: Any) -> float:
        place = self.names.index(value) if self.names and not isinstance(value, float) else float(value)
        start, end = self.pixels
        return start + (place - self.low) / (self.high - self.low) * (end - start)

    @property
    def unit(self) -> float:
        return abs(self.pixels[1] - self.pixels[0]) / (self.high - self.low)


class _Drawing:
    """The elements of one figure."""

    def __init__(self, figure: go.Figure, traces: list[Any]) -> None:
        self.layout, self.traces = figure.layout, traces
        self.bars = [t for t in traces if t.type == "bar"]
        self.sideways = any(t.orientation == "h" for t in self.bars)
        self.colours = {id(t): _colour(t, n) for n, t in enumerate(traces)}
        second = [t for t in traces if t.yaxis == "y2"]
        first = [t for t in traces if t.yaxis != "y2"]
        xs, ys = self._values(first, "x"), self._values(first, "y")
        names = [str(v) for v in ys] if _texts(ys) else ["0000"]
        left = 34 + _CHARACTER * max(map(len, names))
        right = WIDTH - _RIGHT - (58 if second else 0) - (84 if any(t.type == "heatmap" for t in traces) else 0)
        upright = bool(self.bars) and not self.sideways
        room = 0.5 if upright else 0.0  # half a bar
        self.x = _Axis([*xs, *self._values(second, "x")], (left, right), self.layout.xaxis, self.sideways, room)
        self.y = _Axis(ys, (HEIGHT - 52, _TOP), self.layout.yaxis, upright)
        self.y2 = _Axis(self._values(second, "y"), self.y.pixels, self.layout.yaxis2, False) if second else None

    def _values(self, traces: Iterable[Any], axis: str) -> list[Any]:
        """Return what an axis must show; stacked bars reach their sum."""
        values: list[Any] = []
        stacked: dict[Any, float] = {}
        along = "x" if self.sideways else "y"
        for trace in traces:
            own = _list(getattr(trace, axis))
            if trace.type == "bar" and axis == along and self.layout.barmode == "stack":
                for place, value in zip(_list(trace.y if self.sideways else trace.x), own, strict=True):
                    stacked[place] = stacked.get(place, 0.0) + float(value)
            else:
                values += own
                error = getattr(trace, f"error_{axis}", None) if trace.type == "scatter" else None
                if error is not None and error.array is not None:
                    values += [v + d for v, d in zip(own, _list(error.array), strict=True)]
                    values += [v - d for v, d in zip(own, _list(error.arrayminus), strict=True)]
        return values + list(stacked.values())

    def parts(self) -> Iterable[str]:
        """Yield the title, the axes, the traces, the vertical lines and the legend."""
        yield _text(16, 24, self.layout.title.text or "", 'font-size="16" font-weight="600"')
        yield from self._axes()
        bottoms: dict[Any, float] = {}
        for trace in self.traces:
            if trace.type == "heatmap":
                yield from self._heat(trace)
            elif trace.type == "bar":
                yield from self._bar(trace, bottoms)
            else:
                yield from self._scatter(trace)
        for shape in self.layout.shapes:
            if shape.type == "line" and shape.x0 == shape.x1:
                at, (low, high) = self.x(float(shape.x0)), self.y.pixels
                yield _line(at, low, at, high, f'stroke="currentColor"{_DASHES.get(shape.line.dash, "")}')
        yield from self._legend()

    def _axes(self) -> Iterable[str]:
        (left, right), (low, high) = self.x.pixels, self.y.pixels
        faint = 'stroke="currentColor" stroke-opacity=".16"'
        room = self.x.unit if self.x.names else math.inf
        for value, words in self.x.ticks:
            at = self.x(float(value))
            if not self.x.names:
                yield _line(at, low, at, high, faint)
            shown = words if len(words) * _CHARACTER < room or len(words) < 4 else f"{words[:2]}…"
            yield _text(at, low + 18, shown, 'text-anchor="middle" opacity=".8"')
        for value, words in self.y.ticks:
            at = self.y(float(value))
            if not self.y.names:
                yield _line(left, at, right, at, faint)
            yield _text(left - 8, at + 4, words, 'text-anchor="end" opacity=".8"')
        yield _text((left + right) / 2, HEIGHT - 12, self.x.title, 'text-anchor="middle" opacity=".8"')
        yield _text(14, (low + high) / 2, self.y.title, 'text-anchor="middle" opacity=".8"', turned=True)
        if self.y2 is not None:
            for value, words in self.y2.ticks:
                yield _text(right + 8, self.y2(float(value)) + 4, words, 'opacity=".8"')
            yield _text(WIDTH - 12, (low + high) / 2, self.y2.title, 'text-anchor="middle" opacity=".8"', turned=True)

    def _scatter(self, trace: Any) -> Iterable[str]:
        y = self.y2 if trace.yaxis == "y2" and self.y2 is not None else self.y
        colour, mode = self.colours[id(trace)], trace.mode or "lines+markers"
        aside = self._aside(trace)
        places = [(self.x(a), y(b) + aside) for a, b in zip(_list(trace.x), _list(trace.y), strict=True)]
        error = trace.error_x
        if error.array is not None:
            for (_, at), value, up, down in zip(
                places, _list(trace.x), _list(error.array), _list(error.arrayminus), strict=True
            ):
                yield _line(self.x(value - down), at, self.x(value + up), at, f'stroke="{colour}" stroke-width="2"')
        if "lines" in mode:
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            dash, thick = _DASHES.get(trace.line.dash, ""), trace.line.width or 2
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick:g}"{dash}/>'
        if "markers" in mode:
            yield from (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4.5" fill="{colour}"/>' for a, b in places)

    def _aside(self, trace: Any) -> float:
        """Return how far below its category a trace is drawn: with ``scattermode="group"`` traces are side by side."""
        if self.layout.scattermode != "group" or not self.y.names:
            return 0.0
        number, count = self.traces.index(trace), len(self.traces)
        return 0.6 * self.y.unit / count * ((count - 1) / 2 - number)

    def _bar(self, trace: Any, bottoms: dict[Any, float]) -> Iterable[str]:
        along, across = (self.x, self.y) if self.sideways else (self.y, self.x)
        values, places = (trace.x, trace.y) if self.sideways else (trace.y, trace.x)
        stack = self.layout.barmode == "stack"
        count, number = (1, 0) if stack else (len(self.bars), self.bars.index(trace))
        wide = 0.7 * across.unit / count
        for place, value in zip(_list(places), _list(values), strict=True):
            base = bottoms.get(place, 0.0) if stack else 0.0
            bottoms[place] = base + float(value)
            middle = across(place) + (number - (count - 1) / 2) * wide
            start, end = sorted((along(float(base)), along(float(base + value))))
            box = (
                (start, middle - wide / 2, end - start, wide)
                if self.sideways
                else (middle - wide / 2, start, wide, end - start)
            )
            x, y, width, height = (f"{v:.1f}" for v in box)
            yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{self.colours[id(trace)]}"/>'

    def _heat(self, trace: Any) -> Iterable[str]:
        rows = [_list(row) for row in trace.z]
        low, high = min(map(min, rows)), max(map(max, rows))
        xs, ys = _list(trace.x), _list(trace.y)
        wide, tall = (self.x(xs[1]) - self.x(xs[0]), self.y(ys[0]) - self.y(ys[1]))
        for y, row in zip(ys, rows, strict=True):
            for x, value in zip(xs, row, strict=True):
                box = f'x="{self.x(x) - wide / 2:.1f}" y="{self.y(y) - tall / 2:.1f}" width="{wide + 0.5:.1f}"'
                yield f'<rect {box} height="{tall + 0.5:.1f}" fill="{_heat((value - low) / ((high - low) or 1))}"/>'
        at, (bottom, top) = self.x.pixels[1] + 16, self.y.pixels
        for n in range(40):
            tall = (bottom - top) / 40
            box = f'x="{at:.1f}" y="{bottom - (n + 1) * tall:.1f}" width="14" height="{tall + 0.5:.1f}"'
            yield f'<rect {box} fill="{_heat(n / 39)}"/>'
        yield from (_text(at + 20, y, f"{v:.2g}", "") for y, v in ((bottom, low), (top + 10, high)))
        yield _text(at + 20, (bottom + top) / 2, trace.colorbar.title.text or "", "")

    def _legend(self) -> Iterable[str]:
        named = [t for t in self.traces if t.name and t.showlegend is not False]
        at = self.x.pixels[0]
        for trace in named if len(named) > 1 else ():
            colour = self.colours[id(trace)]
            if trace.type == "scatter" and "lines" in (trace.mode or "lines"):
                yield _line(
                    at, 44, at + 14, 44, f'stroke="{colour}" stroke-width="3"{_DASHES.get(trace.line.dash, "")}'
                )
            else:
                yield f'<rect x="{at + 2:.1f}" y="39" width="10" height="10" fill="{colour}"/>'
            yield _text(at + 20, 48, trace.name, "")
            at += 42 + _CHARACTER * len(trace.name)


def _list(values: Any) -> list[Any]:
    """Return numbers as floats and texts as they are; plotly packs arrays."""
    if isinstance(values, dict):
        import numpy as np

        values = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return [v if isinstance(v, str) else float(v) for v in ([] if values is None else values)]


def _texts(values: Sequence[Any]) -> bool:
    return any(isinstance(v, str) for v in values)


def _step(span: float) -> float:
    """Return a round distance between about six ticks."""
    size = 10 ** math.floor(math.log10(span / 6))
    return next(size * n for n in (1, 2, 5, 10) if span / (size * n) <= 7)


def _colour(trace: Any, number: int) -> str:
    if trace.type == "scatter":
        return trace.line.color or trace.marker.color or COLOURS[number % len(COLOURS)]
    given = trace.marker.color if trace.type == "bar" else None
    return given if isinstance(given, str) else COLOURS[number % len(COLOURS)]


def _heat(share: float) -> str:
    at = min(max(share, 0.0), 1.0) * (len(_HEAT) - 1)
    low = min(int(at), len(_HEAT) - 2)
    mixed = (round(a + (at - low) * (b - a)) for a, b in zip(_HEAT[low], _HEAT[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _text(x: float, y: float, words: str, style: str, turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}{turn}>{escape(words)}</text>' if words else ""
