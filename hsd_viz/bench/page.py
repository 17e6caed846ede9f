"""A bench report as one HTML page without scripts or network requests. The template escapes all text of the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.svg import Point, bars, scatter
from hsd_viz.bench.tables import Table, introduction, same_for_all, split, tables
from hsd_viz.bench.verdict import COLOURS, MARKS, SPEED_TITLE, answer, kind, kinds_of, speed_bars, speed_words, warnings
from hsd_viz.serialize import to_dict

if TYPE_CHECKING:
    from markupsafe import Markup

    from hsd_viz.bench.report import Report

#: Widths at which figures are drawn, in CSS pixels: on wide, middle and narrow pages; wide pages have panels in pairs.
WIDTHS = {"wide": 1040.0, "middle": 700.0, "narrow": 380.0}
PANEL = 500.0
_HERE = Path(__file__).parent


def page(report: Report) -> str:
    """Return the page of a report."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Only the template page.html of this package is loaded.
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"split": split, "marks": MARKS, "kinds_of": kinds_of}
    environment.filters |= {"sentence": _sentence, "fact": _fact}
    found = [_shown(table) for table in tables(report)]
    first = [t for t in found if t["title"] in ("All outputs", "Outputs with little repetition")]
    rows = speed_bars(report.stacks)
    return environment.get_template("page.html").render(
        report=report,
        css=_styles(),
        answer=answer(report),
        warnings=list(warnings(report)),
        introduction=list(introduction(report)),
        tables=first,
        more_tables=[t for t in found if t not in first],
        speed_words=speed_words(rows),
        speed=_figure(lambda width: bars(rows, width, title=SPEED_TITLE)),
        latency=_latency(report),
        panels=_panels(report),
        settings=to_dict(report.settings),
        machine={name: value for name, value in to_dict(report.machine).items() if name != "gpus"},
    )


def _styles() -> Markup:
    """The styles, with the colours of kinds in light and dark as the figures' styles name them."""
    from markupsafe import Markup

    light, dark = ("".join(f"--kind-{name}:{pair[k]};" for name, pair in COLOURS.items()) for k in (0, 1))
    colours = f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return Markup(
        "\n".join([colours, *((_HERE / name).read_text(encoding="utf-8") for name in ("figure.css", "page.css"))])
    )


def _latency(report: Report) -> dict[str, Any] | None:
    """The scatter of drafting time and acceptance length, with its stacks and those whose drafting time is unknown."""
    timed = [s for s in report.stacks if None not in (s.draft_seconds_per_round.value, s.mean_acceptance_length.value)]
    if not timed:
        return None
    points = [
        Point(
            s.stack.replace(" > target", ""),
            kind(s.stack),
            s.draft_seconds_per_round.value * 1e6,
            s.mean_acceptance_length.value,
        )
        for s in timed
    ]
    titles = {
        "title": "Mean acceptance length over drafting time per round, by stack",
        "x_title": "drafting µs per round (logarithmic)",
        "y_title": "tokens per forward pass of the target",
    }
    return {
        "stacks": timed,
        "unknown": [s.stack for s in report.stacks if s.draft_seconds_per_round.value is None],
        "figure": _figure(lambda width: scatter(points, width, min(width, 430.0), **titles)),
    }


def _panels(report: Report) -> list[dict[str, Any]]:
    """The speed-ups of each category on one scale; [] where there is one category."""
    categories = report.suite.categories
    if len(categories) < 2:
        return []
    rows = {name: speed_bars(report.stacks, name) for name in categories}
    most = max((row.most() for some in rows.values() for row in some), default=1.0)

    def panel(name: str) -> Markup:
        title = f"Speed-up by stack: {name}"
        return _figure(lambda width: bars(rows[name], width, title=title, most=most), wide=PANEL)

    return [{"name": name, "description": text, "figure": panel(name)} for name, text in categories.items()]


def _figure(draw: Callable[[float], str], wide: float = WIDTHS["wide"]) -> Markup:
    """A figure drawn in each width, of which the page shows the one that fits."""
    from markupsafe import Markup

    drawn = (f'<div class="{name}">{draw(width)}</div>' for name, width in {**WIDTHS, "wide": wide}.items())
    return Markup(f"<figure>{''.join(drawn)}</figure>")


def _shown(table: Table) -> dict[str, Any]:
    """A table for the template; ``text[k]``: whether column k holds text, which is left-aligned."""
    if not table.rows:
        return {"title": table.title, "note": table.note, "same": "", "rows": []}
    shown, same = same_for_all(table)
    columns = zip(*shown.rows[1:], strict=True)
    text = [bool(k) and not any(c[:1].isdigit() or c == "-" for c in column) for k, column in enumerate(columns)]
    rows, kinds = shown.rows, table.kinds or [""] * len(shown.rows)
    return {
        "title": table.title,
        "note": table.note,
        "same": same,
        "head": rows[0],
        "rows": rows[1:],
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
