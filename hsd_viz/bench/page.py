"""A bench report as one HTML page without scripts or network requests. The templates escape all text of the report.

Bars are HTML, as wide as their place. The scatter is SVG for one width in CSS pixels, so that its text is never scaled:
the page draws it for several widths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.tables import Table, introduction, same_for_all, split, tables
from hsd_viz.bench.verdict import (
    COLOURS,
    MARKS,
    SPEED_TITLE,
    Bar,
    answer,
    kind,
    kinds_of,
    speed_bars,
    speed_words,
    times,
    warnings,
)
from hsd_viz.serialize import to_dict

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from hsd_viz.bench.report import Report, StackResult

#: Widths at which the scatter is drawn, in CSS pixels: on wide, middle and narrow pages.
WIDTHS = {"wide": 1040.0, "middle": 700.0, "narrow": 380.0}
#: The estimated width of a character of the scatter's text, which has 12 pixels.
GLYPH = 0.56 * 12
_HERE = Path(__file__).parent
_SCATTER = {
    "title": "Mean acceptance length over drafting time per round, by stack",
    "x_title": "drafting µs per round (logarithmic)",
    "y_title": "tokens per forward pass of the target",
}

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter; an ``x`` of 0 is drawn left of the logarithmic axis; ``kind``: its colour."""

    label: str
    kind: str
    x: float
    y: float


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Only the templates of this package are loaded.
    found = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.globals |= {"split": split, "marks": MARKS, "kinds_of": kinds_of, "times": times, "draw_bars": bars}
    found.filters |= {"sentence": _sentence, "fact": _fact}
    return found


def bars(rows: Sequence[Bar], title: str, most: float = 0.0) -> Markup:
    """Return horizontal bars with a line at 1, on a scale up to ``most`` or what they need."""
    from markupsafe import Markup

    largest = max([most, 1.0, *(row.most() for row in rows)])
    share = lambda value: f"{100 * value / largest:.2f}%"
    template = _environment().get_template("bars.html")
    return Markup(template.render(rows=rows, title=title, ticks=ticks(largest), share=share))


def page(report: Report) -> str:
    """Return the page of a report."""
    found = [_shown(table) for table in tables(report)]
    first = [t for t in found if t["title"] in ("All outputs", "Outputs with little repetition")]
    rows, categories = speed_bars(report.stacks), report.suite.categories
    panels = {name: speed_bars(report.stacks, name) for name in categories} if len(categories) > 1 else {}
    timed = [s for s in report.stacks if None not in (s.draft_seconds_per_round.value, s.mean_acceptance_length.value)]
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            css=_styles(),
            answer=answer(report),
            warnings=list(warnings(report)),
            introduction=list(introduction(report)),
            tables=first,
            more_tables=[t for t in found if t not in first],
            speed_words=speed_words(rows),
            speed=bars(rows, SPEED_TITLE),
            timed=timed,
            untimed=[s.stack for s in report.stacks if s.draft_seconds_per_round.value is None],
            latency=_scatter(timed),
            panels=panels,
            most=max((row.most() for some in panels.values() for row in some), default=1.0),
            settings=to_dict(report.settings),
            machine={name: value for name, value in to_dict(report.machine).items() if name != "gpus"},
        )
    )


def _styles() -> Markup:
    """The styles, with the colours of kinds in light and dark as the figures' styles name them."""
    from markupsafe import Markup

    light, dark = ("".join(f"--kind-{name}:{pair[k]};" for name, pair in COLOURS.items()) for k in (0, 1))
    colours = f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    files = ((_HERE / name).read_text(encoding="utf-8") for name in ("figure.css", "page.css"))
    return Markup("\n".join([colours, *files]))


def _scatter(stacks: Sequence[StackResult]) -> Markup:
    """Return the scatter of the stacks in each width, of which the page shows the one that fits."""
    from markupsafe import Markup

    points = [
        Point(
            s.stack.replace(" > target", ""),
            kind(s.stack),
            s.draft_seconds_per_round.value * 1e6,
            s.mean_acceptance_length.value,
        )
        for s in stacks
    ]
    drawn = (
        f'<div class="{name}">{scatter(points, width, min(width, 430.0), **_SCATTER)}</div>'
        for name, width in WIDTHS.items()
    )
    return Markup(f"<figure>{''.join(drawn)}</figure>")


def _shown(table: Table) -> dict[str, Any]:
    """A table for the template; ``text[k]``: whether column k holds text, which is left-aligned."""
    shown, same = same_for_all(table) if table.rows else (table, "")
    head, *rows = shown.rows or [[]]
    text = [
        bool(k) and not any(c[:1].isdigit() or c == "-" for c in column)
        for k, column in enumerate(zip(*rows, strict=True))
    ]
    kinds = table.kinds or [""] * len(rows)
    return {
        "title": table.title,
        "note": table.note,
        "same": same,
        "head": head,
        "rows": rows,
        "text": text,
        "kinds": kinds,
    }


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:].rstrip(':')}."


def _fact(value: Any, name: str) -> str:
    """The value of a setting, or of a fact about the machine, as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if name == "low_repetition_below":
        return f"{value:.0%}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


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

    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    out = [f'<svg class="bench-figure" {size} role="img" aria-label="{escape(title, quote=True)}">']
    out.append(_text(left - 26, 12, y_title, "tick"))
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


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
