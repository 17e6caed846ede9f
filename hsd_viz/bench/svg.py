"""The figures of a bench report as inline SVG: bars with intervals, and a scatter of all stacks. Colours are the page's (CSS classes).

A figure is drawn for one width in CSS pixels, so that its text is never scaled: a page draws it for each width that it wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

#: The width of an average character of the figures' text, in its size: what room a label needs is estimated.
GLYPH = 0.56
SIZE = 12.0
PAD = 4.0

Box = tuple[float, float, float, float]
Interval = Sequence[float] | None


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval; ``second`` is a value to be shown beneath it, ``kind`` the CSS class of its colour."""

    label: str
    kind: str
    value: float
    interval: Interval = None
    second: float | None = None
    second_interval: Interval = None

    def most(self) -> float:
        """The largest number that is drawn."""
        ends = [*(self.interval or ()), *(self.second_interval or ())]
        return max(self.value, self.second or 0.0, *ends, 0.0)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter; an ``x`` of 0 stands on a lane of its own beside the logarithmic axis."""

    label: str
    kind: str
    x: float
    y: float


def text_width(text: str, size: float = SIZE) -> float:
    """About how many pixels ``text`` takes."""
    return GLYPH * size * len(text)


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 to ``most`` (above 0) at most, ``count`` steps or fewer of 1, 2 or 5 times a power of ten."""
    rough = most / count
    power = 10 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999999)
    return [round(k * step, 10) for k in range(floor(most / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten (all above 0): the last one below ``low`` to the first one above ``high``."""
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    found = [round(m * 10.0**k, 10) for k in powers for m in (1, 2, 5)]
    first = max(k for k, tick in enumerate(found) if tick < low)
    last = min(k for k, tick in enumerate(found) if tick > high)
    return found[first : last + 1]


def bars(
    rows: Sequence[Bar], width: float, *, title: str, reference: float = 1.0, most: float | None = None, unit: str = "×"
) -> str:
    """Horizontal bars, a line at ``reference``; labels stand left of the bars where there is room, else above them."""
    tall = any(r.second is not None for r in rows)
    labels = max((text_width(r.label) for r in rows), default=0.0)
    beside = labels + 16 <= 0.42 * width
    left = labels + 16 if beside else PAD
    shown = [_with_unit(r.value, unit) for r in rows]
    right = max((text_width(s) for s in shown), default=0.0) + 14
    step = (30 if tall else 26) + (0 if beside else 20)
    top = 8.0
    height = top + step * len(rows) + 24
    largest = max([most or 0.0, reference, *(r.most() for r in rows)])
    marks = ticks(largest, 6 if width > 560 else 4)
    scale = (width - left - right) / largest
    bottom = top + step * len(rows)
    out = [_open(width, height, title)]
    for mark in marks:
        x = left + mark * scale
        out.append(f'<line class="grid" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        out.append(_text(x, bottom + 16, f"{mark:g}", "tick", "middle" if mark or beside else "start"))
    words = []
    for k, (row, value) in enumerate(zip(rows, shown, strict=True)):
        y = top + k * step + (0 if beside else 18)
        thick = 13 if tall else 15
        middle = y + 3 + thick / 2
        if beside:
            words.append(_text(left - 10, middle + (8 if tall else 4), row.label, "label", "end"))
        else:
            words.append(_text(PAD, y - 3, row.label, "label"))
        told = f"{row.label}: {value}"
        if row.interval is not None:
            told += f" (95 % interval {row.interval[0]:.2f} to {row.interval[1]:.2f})"
        out.append(f"<g><title>{escape(told)}</title>")
        out.append(_bar(left, y + 3, row.value * scale, thick, row.kind))
        out += _whisker(row.interval, left, scale, middle)
        if row.second is not None:
            out.append(_bar(left, y + 4 + thick, row.second * scale, 6, f"{row.kind} faint"))
            out += _whisker(row.second_interval, left, scale, y + 7 + thick)
        out.append("</g>")
        end = left + max(row.value, *(row.interval or (0.0,))) * scale
        words.append(_text(end + 7, middle + 4, value, "value"))
    x = left + reference * scale
    out.append(f'<line class="reference" x1="{x:.1f}" y1="{top - 4:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
    return "".join([*out, *words, "</svg>"])


def scatter(points: Sequence[Point], width: float, height: float, *, title: str, x_title: str, y_title: str) -> str:
    """Points over a logarithmic x axis, each with its label where it hides nothing."""
    above = [p.x for p in points if p.x > 0]
    decades = log_ticks(min(above), max(above)) if above else [1.0, 10.0]
    low, high = log10(decades[0]), log10(decades[-1])
    lane = any(p.x <= 0 for p in points)
    left, right, top, bottom = 34.0, width - 12, 26.0, height - 42
    start = left + (64 if lane else 10)
    largest = max([1.0, *(p.y for p in points)]) * 1.1
    marks = ticks(largest)
    up = (bottom - top) / largest

    def at(p: Point) -> tuple[float, float]:
        x = left + 30 if p.x <= 0 else start + (log10(p.x) - low) / (high - low) * (right - start)
        return x, bottom - p.y * up

    out = [_open(width, height, title), _text(left - 26, 12, y_title, "tick")]
    for mark in marks:
        y = bottom - mark * up
        out.append(f'<line class="grid" x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>')
        out.append(_text(left - 8, y + 4, f"{mark:g}", "tick", "end"))
    if lane:
        out.append(f'<line class="lane" x1="{start - 4:.1f}" y1="{top:.1f}" x2="{start - 4:.1f}" y2="{bottom:.1f}"/>')
        out.append(_text(left + 30, bottom + 17, "0", "tick", "middle"))
    for k, tick in enumerate(decades):
        x = start + (log10(tick) - low) / (high - low) * (right - start)
        out.append(f'<line class="grid" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        # Many decades leave room for powers of ten alone.
        if len(decades) * 30 < width - start or round(log10(tick), 6).is_integer():
            out.append(_text(x, bottom + 17, f"{tick:g}", "tick", "middle" if k < len(decades) - 1 else "end"))
    out.append(_text(right, bottom + 34, x_title, "tick", "end"))
    places = [at(p) for p in points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    # Those at the right edge have the least choice.
    for k in sorted(range(len(points)), key=lambda k: -places[k][0]):
        (x, y), p = places[k], points[k]
        box, anchor, tx, ty = _place(x, y, p.label, taken, (left - 30, 0.0, width, bottom + 2))
        taken.append(box)
        if abs(ty - 4 - y) > 14:
            out.append(f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{tx:.1f}" y2="{ty - 4:.1f}"/>')
        out.append(_text(tx, ty, p.label, "label", anchor))
    for p, (x, y) in zip(points, places, strict=True):
        told = f"{p.label}: {p.x:.0f} µs a round, {p.y:.2f} tokens a round"
        out.append(f'<circle class="{p.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5.5"><title>{escape(told)}</title></circle>')
    return "".join([*out, "</svg>"])


def _place(x: float, y: float, label: str, taken: Sequence[Box], page: Box) -> tuple[Box, str, float, float]:
    """Where a label hides least: its box, anchor and position."""
    wide = text_width(label)
    best = None
    for away, (box, anchor, tx, ty) in enumerate(_candidates(x, y, wide)):
        hidden = sum(_overlap(box, other) for other in taken)
        outside = wide * 15 - _overlap(box, page)
        score = hidden + 20 * max(0.0, outside) + away * 0.5
        if best is None or score < best[0]:
            best = (score, box, anchor, tx, ty)
    return best[1:]


def _candidates(x: float, y: float, wide: float) -> Iterator[tuple[Box, str, float, float]]:
    for far in (0, 12, 24, 36, 50):
        for shift in (0,) if not far else (-far, far):
            yield (x + 10, y + shift - 7, x + 10 + wide, y + shift + 8), "start", x + 10, y + shift + 4
            yield (x - 10 - wide, y + shift - 7, x - 10, y + shift + 8), "end", x - 10, y + shift + 4
        for shift in (-far - 14, far + 14):
            yield (x - wide / 2, y + shift - 7, x + wide / 2, y + shift + 8), "middle", x, y + shift + 4


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _open(width: float, height: float, title: str) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg class="bench-figure" {size} role="img" aria-label="{escape(title, quote=True)}">'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(x: float, y: float, wide: float, thick: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0.5):.1f}" height="{thick:g}" rx="2"/>'


def _whisker(interval: Interval, left: float, scale: float, y: float) -> list[str]:
    if interval is None:
        return []
    low, high = (left + end * scale for end in interval)
    return [
        f'<path class="whisker" d="M{low:.1f} {y - 4:.1f}v8M{low:.1f} {y:.1f}H{high:.1f}M{high:.1f} {y - 4:.1f}v8"/>'
    ]


def _with_unit(value: float, unit: str) -> str:
    return f"{value:.2f}{unit}"
