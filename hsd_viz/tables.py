"""Tables whose cells stay numbers until they are shown, and the page of ``bench``, ``replay``, ``doctor``, ``audit``.

All text of a page is escaped; it has no scripts and makes no network requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.intervals import Estimate
from hsd_viz.words import counted

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).with_name("templates")
#: A cell: text, a number or an estimate; ``None``: not measured.
Value = str | float | Estimate | None


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` of values, the head first; none where there is only a ``note``. ``forms``: the format of a column's
    numbers and the factor before it, by its head. ``kinds``: of each row but the head where rows are stacks
    (:data:`hsd_viz.bench.report.KINDS`). ``bars``: heads of columns that a page also shows as bars, on one scale.
    """

    title: str
    rows: Sequence[Sequence[Value]]
    note: str = ""
    kinds: tuple[str, ...] = ()
    forms: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    bars: Iterable[str] = ()

    def cells(self) -> list[list[str]]:
        """Return the head and the rows as text."""
        forms = (
            [self.forms.get(str(name), ("{}", 1.0)) for name in self.rows[0]] if self.rows else []
        )
        return [
            [show(value, *form) for value, form in zip(row, forms, strict=True)]
            for row in self.rows
        ]

    def widths(self) -> list[list[float]]:
        """Return the bar of each cell of each row as a share of the largest, 0 where there is none."""
        head, *rows = self.rows
        value = lambda cell: (cell.value if isinstance(cell, Estimate) else cell) or 0.0
        drawn = [
            [float(value(c)) if name in self.bars else 0.0 for name, c in zip(head, r, strict=True)]
            for r in rows
        ]
        most = max((width for row in drawn for width in row), default=0.0) or 1.0
        return [[width / most for width in row] for row in drawn]

    def dense(self, once: Iterable[str] = ()) -> Table:
        """Return the table without columns that have no values, and without those of ``once`` that are equal for all
        rows, which the note then has.
        """
        keep, same = [], []
        for k, (head, *column) in enumerate(zip(*self.cells(), strict=True)):
            if (
                head in once
                and len(column) > 1
                and len(set(column)) == 1
                and column[0] not in ("-", "")
            ):
                same.append(f"{head} {column[0]}")
            elif not column or set(column) - {"-", ""}:
                keep.append(k)
        note = f"the same for all stacks: {', '.join(same)}" if same else ""
        rows = [[row[k] for k in keep] for row in self.rows]
        return replace(self, rows=rows, note="; ".join(filter(None, (self.note.rstrip(":"), note))))


def show(value: Value, form: str = "{}", scale: float = 1.0) -> str:
    """Return a value times ``scale`` as text, with its interval where it has one."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Estimate):
        value = Estimate(value)
    if value.value is None:
        return "-"
    figure, *ends = (
        form.format(scale * x if scale != 1 else x) for x in (value.value, *(value.interval or ()))
    )
    return f"{figure} [{', '.join(ends)}]" if ends else figure


def sentence(line: str) -> str:
    """Return a line of the terminal output as a sentence; names of files and models keep their case."""
    text = line.rstrip(":")
    first = text if re.match(r"\S*(\d|\.\w)", text) else text[:1].upper() + text[1:]
    return f"{first}{'' if not text or text.endswith(('.', '?')) else '.'}"


def page(title: str, lines: Iterable[str], parts: Iterable[Table], **more: Any) -> str:
    """Return a page: a title, ``lines`` and tables. ``more``: a ``headline`` of (text, emphasized), ``warnings``, named
    groups of ``facts``, a ``command`` line, ``definitions``, and ``kinds``: label and colours (light, dark) of rows.
    """
    empty: dict[str, Any] = {
        name: {} for name in ("headline", "warnings", "facts", "kinds", "command", "definitions")
    }
    css = TEMPLATES.joinpath("page.css").read_text(encoding="utf-8")
    shown = [part for part in parts if part.rows or part.note]
    return template("page.html").render(
        empty | more, title=title, css=css, lines=lines, parts=shown
    )


def lines(name: str, /, **values: Any) -> list[str]:
    """Return the lines of a text template; a backslash joins two lines, empty ones are left out."""
    text = template(name).render(values).replace("\\\n", "")
    return [line for line in text.splitlines() if line.strip()]


@cache
def template(name: str) -> Template:
    """Return a template of the package; the values of a page are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    options: dict[str, Any] = {
        "autoescape": select_autoescape(["html"]),
        "undefined": StrictUndefined,
    }
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True, **options
    )
    # A column with a word is left-aligned, and wraps.
    left: Any = lambda cells, k: k and any(row[k][:1].isalpha() for row in cells[1:])
    made.globals |= {"left": left}
    made.policies["json.dumps_kwargs"] = {}  # keeps the order of keys
    made.filters |= {
        "sentence": sentence,
        "counted": counted,
        "json": partial(json.dumps, default=str),
    }
    return made.get_template(name)
