"""Writes results as a page that opens offline, and loads the templates of the package.

All text of a page is escaped; it has no scripts and makes no network requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.results.bar_chart import BAR_COLOURS, BarChart, bar_chart
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.table import Table
from hsd_viz.text import counted

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).parent.parent / "templates"
#: Widest table that a phone shows with its columns side by side, in characters; of wider ones it
#: lists the cells of each row.
PHONE_CHARACTERS = 52
#: Width of the first column there, whose text is wrapped, and of the space between two columns.
_LABEL_CHARACTERS = 12
_GAP_CHARACTERS = 1.2


def page(
    title: str,
    lines: Iterable[str],
    tables: Iterable[Table],
    *,
    headline: Sequence[tuple[str, bool]] = (),
    warnings: Sequence[str] = (),
    facts: Mapping[str, Mapping[str, str]] | None = None,
    command: str = "",
    definitions: Mapping[str, str] | None = None,
    chart: BarChart | None = None,
    links: Iterable[tuple[str, str]] = (),
) -> str:
    """Return a page.

    Args:
        title: the title.
        lines: the sentences below the title.
        tables: the tables; those without rows and note are left out.
        headline: the answer as parts (text, whether it is emphasized).
        warnings: reasons to doubt the figures.
        facts: the facts, by group.
        command: the command line that produced the result.
        definitions: the definitions of the figures.
        chart: the chart below the headline.
        links: the addresses and names of other pages of the site.
    """
    return template("page.html").render(
        title=title,
        lines=lines,
        parts=[table for table in tables if table.rows or table.note],
        css=TEMPLATES.joinpath("page.css").read_text(encoding="utf-8"),
        headline=headline,
        warnings=warnings,
        facts=facts or {},
        colours=BAR_COLOURS,
        command=command,
        definitions=definitions or {},
        chart=chart,
        links=list(links),
    )


def sentence(line: str) -> str:
    """Convert a line of the terminal to a sentence; names of files and models keep their case."""
    text = line.rstrip(":")
    is_name = re.match(r"\S*(\d|\.\w)", text)
    capitalized = text if is_name else text[:1].upper() + text[1:]
    is_whole = not text or text.endswith((".", "?"))
    return capitalized if is_whole else f"{capitalized}."


def lines(name: str, /, **values: Any) -> list[str]:
    """Return the lines of a text template.

    A backslash at the end of a line joins it with the next one; empty lines are dropped.
    """
    text = template(name).render(values).replace("\\\n", "")
    return [line for line in text.splitlines() if line.strip()]


def _is_text(cells: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column contains words, so that it is left-aligned and wraps."""
    return bool(place) and any(row[place][:1].isalpha() for row in cells[1:])


def _is_wide(cells: Sequence[Sequence[str]]) -> bool:
    """Return whether a table is wider than a phone's page."""
    head, *rows = cells
    width = float(_LABEL_CHARACTERS)
    for place in range(1, len(head)):
        longest = max(map(len, head[place].split()), default=0)
        for row in rows:
            longest = max(longest, *map(len, row[place].split(" [")))
        width += _GAP_CHARACTERS + longest
    return width > PHONE_CHARACTERS


@cache
def template(name: str) -> Template:
    """Load a template of the package; values in pages are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
    )
    environment.globals["left"] = _is_text
    environment.globals["is_wide"] = _is_wide
    environment.globals["bar_chart"] = bar_chart
    environment.policies["json.dumps_kwargs"] = {}  # keeps the order of keys
    environment.filters["sentence"] = sentence
    environment.filters["counted"] = counted
    environment.filters["stack_name"] = stack_name
    environment.filters["json"] = partial(json.dumps, default=str)
    return environment.get_template(name)
