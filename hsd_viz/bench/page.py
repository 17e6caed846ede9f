"""A bench report as one HTML page without scripts or network requests. The template escapes all text of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.svg import Bar, Point, bars, scatter
from hsd_viz.bench.tables import Table, introduction, same_for_all, split, tables
from hsd_viz.bench.verdict import COLOURS, MARKS, SPEED_TITLE, answer, kind, kinds_of, speed_bars, speed_words, warnings
from hsd_viz.serialize import to_dict

if TYPE_CHECKING:
    from markupsafe import Markup

    from hsd_viz.bench.report import Report, StackResult

#: Widths at which figures are drawn, in CSS pixels: on wide, middle and narrow pages; wide pages have panels in pairs.
WIDTHS = {"wide": 1040.0, "middle": 700.0, "narrow": 380.0}
PANEL = 500.0
_HERE = Path(__file__).parent
_SCATTER = {
    "title": "Mean acceptance length over drafting time per round, by stack",
    "x_title": "drafting µs per round (logarithmic)",
    "y_title": "tokens per forward pass of the target",
}


def page(report: Report) -> str:
    """Return the page of a report."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Only the template page.html of this package is loaded.
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"split": split, "marks": MARKS, "kinds_of": kinds_of, "draw_bars": _draw_bars}
    environment.filters |= {"sentence": _sentence, "fact": _fact}
    found = [_shown(table) for table in tables(report)]
    first = [t for t in found if t["title"] in ("All outputs", "Outputs with little repetition")]
    rows, categories = speed_bars(report.stacks), report.suite.categories
    panels = {name: speed_bars(report.stacks, name) for name in categories} if len(categories) > 1 else {}
    timed = [s for s in report.stacks if None not in (s.draft_seconds_per_round.value, s.mean_acceptance_length.value)]
    return environment.get_template("page.html").render(
        report=report,
        css=_styles(),
        answer=answer(report),
        warnings=list(warnings(report)),
        introduction=list(introduction(report)),
        tables=first,
        more_tables=[t for t in found if t not in first],
        speed_words=speed_words(rows),
        speed=_draw_bars(rows, SPEED_TITLE),
        timed=timed,
        untimed=[s.stack for s in report.stacks if s.draft_seconds_per_round.value is None],
        latency=_figure(lambda width: scatter([*map(_point, timed)], width, min(width, 430.0), **_SCATTER)),
        panels=panels,
        most=max((row.most() for some in panels.values() for row in some), default=1.0),
        settings=to_dict(report.settings),
        machine={name: value for name, value in to_dict(report.machine).items() if name != "gpus"},
    )


def _styles() -> Markup:
    """The styles, with the colours of kinds in light and dark as the figures' styles name them."""
    from markupsafe import Markup

    light, dark = ("".join(f"--kind-{name}:{pair[k]};" for name, pair in COLOURS.items()) for k in (0, 1))
    colours = f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    files = ((_HERE / name).read_text(encoding="utf-8") for name in ("figure.css", "page.css"))
    return Markup("\n".join([colours, *files]))


def _point(stack: StackResult) -> Point:
    x, y = stack.draft_seconds_per_round.value * 1e6, stack.mean_acceptance_length.value
    return Point(stack.stack.replace(" > target", ""), kind(stack.stack), x, y)


def _draw_bars(rows: Sequence[Bar], title: str, most: float = 0.0, panel: bool = False) -> Markup:
    """Bars, on a scale up to ``most`` or what they need; ``panel``: one of several beside each other."""
    return _figure(lambda width: bars(rows, width, title=title, most=most), PANEL if panel else WIDTHS["wide"])


def _figure(draw: Callable[[float], str], wide: float = WIDTHS["wide"]) -> Markup:
    """A figure drawn in each width, of which the page shows the one that fits."""
    from markupsafe import Markup

    drawn = (f'<div class="{name}">{draw(width)}</div>' for name, width in {**WIDTHS, "wide": wide}.items())
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
