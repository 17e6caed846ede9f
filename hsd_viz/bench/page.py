"""A bench report as one HTML page without scripts or network requests. The templates escape all text of the report.

Bars are HTML, as wide as their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.report import Report, StackResult, kind
from hsd_viz.bench.tables import introduction, same_for_all, tables
from hsd_viz.bench.verdict import (
    COLOURS,
    MARKS,
    SPEED_TITLE,
    Bar,
    answer,
    kinds_of,
    speed_bars,
    speed_words,
    warnings,
)
from hsd_viz.serialize import to_dict
from hsd_viz.tables import TEMPLATES, Table, environment

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_HERE = Path(__file__).parent


@cache
def _environment() -> Environment:
    found = environment(_HERE)
    found.globals |= {"marks": MARKS, "kinds_of": kinds_of, "draw_bars": bars}
    found.filters["fact"] = _fact
    return found


def bars(
    rows: Sequence[Bar], title: str, most: float = 0.0, form: str = "%.2f×", reference: float | None = 1.0
) -> Markup:
    """Return horizontal bars with a line at ``reference``, on a scale up to ``most`` or what they need. ``form`` writes
    the figures.
    """
    from markupsafe import Markup

    largest = max([most, reference or 1e-9, *(row.most() for row in rows)])
    share = lambda value: f"{100 * value / largest:.2f}%"
    template = _environment().get_template("bars.html")
    return Markup(
        template.render(rows=rows, title=title, ticks=ticks(largest), share=share, form=form, reference=reference)
    )


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
            speed_words=speed_words(
                any(row.second.value is not None for row in rows), any(row.value.interval for row in rows)
            ),
            speed=bars(rows, SPEED_TITLE),
            timed=timed,
            untimed=[s.stack for s in report.stacks if s.draft_seconds_per_round.value is None],
            costs=_costs(timed),
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
    files = (path.read_text(encoding="utf-8") for path in (_HERE / "figure.css", TEMPLATES / "page.css"))
    return Markup("\n".join([colours, *files]))


def _costs(stacks: Sequence[StackResult]) -> list[tuple[str, Markup]]:
    """Return the benefit and the cost of drafting as bars with their titles, in one order."""
    order = sorted(stacks, key=lambda s: -s.mean_acceptance_length.value)
    lengths = [Bar(s.stack, kind(s.stack), s.mean_acceptance_length) for s in order]
    spent = [Bar(s.stack, kind(s.stack), s.draft_seconds_per_round.scaled(1e6)) for s in order]
    titles = "Tokens per forward pass of the target", "Drafting, µs per round"
    return [
        (titles[0], bars(lengths, f"{titles[0]}, by stack", form="%.2f")),
        (titles[1], bars(spent, f"{titles[1]}, by stack", form="%.0f", reference=None)),
    ]


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
