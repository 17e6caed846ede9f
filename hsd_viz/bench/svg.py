"""The figures of a bench report as inline SVG: bars with intervals, and a scatter of all stacks. CSS sets the colours.

A figure is drawn for one width in CSS pixels, so that its text is never scaled: a page draws it for several widths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from hsd_viz.intervals import UNKNOWN, Estimate

#: The estimated width of a character of the figures' text, which has 12 pixels.
GLYPH = 0.56 * 12
PAD = 4.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, and a second one to be drawn below it; ``kind`` is the CSS class of its colour."""

    label: str
    kind: str
    value: Estimate
    second: Estimate = UNKNOWN

    def most(self) -> float:
        """Return the largest number that is drawn."""
        return max(0.0, *(x or 0.0 for e in (self.value, self.second) for x in (e.value, e.low, e.high)))


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter; an ``x`` of 0 is drawn left of the logarithmic axis."""

    label: str
    kind: str
    x: float
    y: float


def ticks(most: float, count: int = 5) -> list[float]:
    """Return round numbers from 0 to ``most`` (> 0), in at most ``count`` steps of 1, 2 or 5 times a power of ten."""
    rough = most / count
    power = 10 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999999)
    return [round(k * step, 10) for k in range(floor(most / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, from the last one below ``low`` (> 0) to the first one above ``high``."""
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    found = [round(m * 10.0**k, 10) for k in powers for m in (1, 2, 5)]
    first = max(k for k, tick in enumerate(found) if tick < low)
    last = min(k for k, tick in enumerate(found) if tick > high)
    return found[first : last + 1]


def bars(rows: Sequence[Bar], width: float, *, title: str, reference: float = 1.0, most: float = 0.0) -> str:
    """Return horizontal bars with a line at ``reference``; labels are left of the bars, or above them if too wide."""
    tall = any(r.second.value is not None for r in rows)
    labels = max((_text_width(r.label) for r in rows), default=0.0)
    beside = labels + 16 <= 0.42 * width
    left = labels + 16 if beside else PAD
    shown = [f"{r.value.value:.2f}×" for r in rows]
    right = max((_text_width(s) for s in shown), default=0.0) + 14
    step, thick = (30 if tall else 26) + (0 if beside else 20), 13 if tall else 15
    top = 8.0
    bottom = top + step * len(rows)
    largest = max([most, reference, *(r.most() for r in rows)])
    scale = (width - left - right) / largest
    out = [_open(width, bottom + 24, title)]
    for mark in ticks(largest, 6 if width > 560 else 4):
        x = left + mark * scale
        out.append(_line("grid", x, top, x, bottom))
        out.append(_text(x, bottom + 16, f"{mark:g}", "tick", "middle" if mark or beside else "start"))
    texts = []
    for k, (row, value) in enumerate(zip(rows, shown, strict=True)):
        y = top + k * step + (0 if beside else 18)
        middle = y + 3 + thick / 2
        if beside:
            texts.append(_text(left - 10, middle + (8 if tall else 4), row.label, "label", "end"))
        else:
            texts.append(_text(PAD, y - 3, row.label, "label"))
        interval = row.value.interval
        tip = f" (95 % interval {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
        out.append(f"<g><title>{escape(f'{row.label}: {value}{tip}')}</title>")
        out += _bar(row.value, left, y + 3, scale, thick, row.kind)
        out += _bar(row.second, left, y + 4 + thick, scale, 6, f"{row.kind} faint")
        out.append("</g>")
        end = left + max(row.value.value, *(interval or (0.0,))) * scale
        texts.append(_text(end + 7, middle + 4, value, "value"))
    x = left + reference * scale
    out.append(_line("reference", x, top - 4, x, bottom))
    return "".join([*out, *texts, "</svg>"])


def scatter(points: Sequence[Point], width: float, height: float, *, title: str, x_title: str, y_title: str) -> str:
    """Return points over a logarithmic x axis, each with its label where it covers least."""
    above = [p.x for p in points if p.x > 0]
    decades = log_ticks(min(above), max(above)) if above else [1.0, 10.0]
    low, high = log10(decades[0]), log10(decades[-1])
    lane = any(p.x <= 0 for p in points)
    left, right, top, bottom = 34.0, width - 12, 26.0, height - 42
    start = left + (64 if lane else 10)
    largest = max([1.0, *(p.y for p in points)]) * 1.1
    up = (bottom - top) / largest

    def across(x: float) -> float:
        return left + 30 if x <= 0 else start + (log10(x) - low) / (high - low) * (right - start)

    out = [_open(width, height, title), _text(left - 26, 12, y_title, "tick")]
    for mark in ticks(largest):
        y = bottom - mark * up
        out.append(_line("grid", left, y, right, y))
        out.append(_text(left - 8, y + 4, f"{mark:g}", "tick", "end"))
    if lane:
        out.append(_line("lane", start - 4, top, start - 4, bottom))
        out.append(_text(left + 30, bottom + 17, "0", "tick", "middle"))
    for k, tick in enumerate(decades):
        x = across(tick)
        out.append(_line("grid", x, top, x, bottom))
        # Many decades leave room for powers of ten alone.
        if len(decades) * 30 < width - start or round(log10(tick), 6).is_integer():
            out.append(_text(x, bottom + 17, f"{tick:g}", "tick", "middle" if k < len(decades) - 1 else "end"))
    out.append(_text(right, bottom + 34, x_title, "tick", "end"))
    places = [(across(p.x), bottom - p.y * up) for p in points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    # Labels at the right edge have the least choice.
    for k in sorted(range(len(points)), key=lambda k: -places[k][0]):
        x, y = places[k]
        box, anchor, tx, ty = _place(x, y, points[k].label, taken, (left - 30, 0.0, width, bottom + 2))
        taken.append(box)
        if abs(ty - 4 - y) > 14:
            out.append(_line("leader", x, y, tx, ty - 4))
        out.append(_text(tx, ty, points[k].label, "label", anchor))
    for p, (x, y) in zip(points, places, strict=True):
        tip = escape(f"{p.label}: {p.x:.0f} µs per round, {p.y:.2f} tokens per round")
        out.append(f'<circle class="{p.kind}" cx="{x:.1f}" cy="{y:.1f}" r="5.5"><title>{tip}</title></circle>')
    return "".join([*out, "</svg>"])


def _place(x: float, y: float, label: str, taken: Sequence[Box], page: Box) -> tuple[Box, str, float, float]:
    """Return where a label covers least: its box, anchor and position."""
    wide = _text_width(label)
    scored = []
    for away, (box, anchor, tx, ty) in enumerate(_candidates(x, y, wide)):
        hidden = sum(_overlap(box, other) for other in taken)
        outside = max(0.0, wide * 15 - _overlap(box, page))
        scored.append((hidden + 20 * outside + away * 0.5, away, (box, anchor, tx, ty)))
    return min(scored)[-1]


def _candidates(x: float, y: float, wide: float) -> Iterator[tuple[Box, str, float, float]]:
    for far in (0, 12, 24, 36, 50):
        for shift in (0,) if not far else (-far, far):
            yield (x + 10, y + shift - 7, x + 10 + wide, y + shift + 8), "start", x + 10, y + shift + 4
            yield (x - 10 - wide, y + shift - 7, x - 10, y + shift + 8), "end", x - 10, y + shift + 4
        for shift in (-far - 14, far + 14):
            yield (x - wide / 2, y + shift - 7, x + wide / 2, y + shift + 8), "middle", x, y + shift + 4


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _text_width(text: str) -> float:
    """Return the estimated width of ``text`` in pixels."""
    return GLYPH * len(text)


def _open(width: float, height: float, title: str) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg class="bench-figure" {size} role="img" aria-label="{escape(title, quote=True)}">'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(value: Estimate, left: float, y: float, scale: float, thick: float, kind: str) -> Iterator[str]:
    """Yield a bar and the whisker of its interval."""
    if value.value is None:
        return
    wide = max(value.value * scale, 0.5)
    yield f'<rect class="{kind}" x="{left:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{thick:g}" rx="2"/>'
    if value.interval is not None:
        (low, high), at = (left + end * scale for end in value.interval), y + thick / 2
        path = f"M{low:.1f} {at - 4:.1f}v8M{low:.1f} {at:.1f}H{high:.1f}M{high:.1f} {at - 4:.1f}v8"
        yield f'<path class="whisker" d="{path}"/>'
