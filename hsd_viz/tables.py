"""Tables of text with notes, and a page of them for ``replay``, ``doctor`` and ``audit``; all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.intervals import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
#: A column of :func:`page` with a cell of more characters holds text: it is left-aligned and wraps.
WORDS = 40
_INTERVAL = re.compile(r"(\S+) (\[[^\]]+\]|\(\d+%\))\Z")

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` of cells, the head first; none where there is only a ``note``. ``title`` is for a page. ``kinds``: a key
    of :data:`hsd_viz.bench.verdict.KINDS` for each row but the head; () where rows are not stacks.
    """

    title: str
    rows: Rows
    note: str = ""
    kinds: tuple[str, ...] = ()


def show(figure: Estimate, form: str, scale: float = 1.0) -> str:
    """Return a figure times ``scale`` as text, with its interval where it has one."""
    if figure.value is None:
        return "-"
    value, *ends = (form.format(scale * x) for x in (figure.value, *(figure.interval or ())))
    return f"{value} [{', '.join(ends)}]" if ends else value


def split(cell: str) -> tuple[str, str]:
    """Split a cell into its figure and the interval or share, which a page shows below it ("": none)."""
    found = _INTERVAL.match(cell)
    return (found[1], found[2]) if found else (cell, "")


def sentence(line: str) -> str:
    """Return a line of the terminal output as a sentence."""
    text = line.rstrip(":")
    return f"{text[:1].upper()}{text[1:]}{'' if not text or text.endswith(('.', '?')) else '.'}"


def page(title: str, lines: Iterable[str], tables: Iterable[Table]) -> str:
    """Return a page of sentences and tables without scripts or network requests."""
    template = environment(TEMPLATES).get_template("tables.html")
    css = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    return template.render(title=title, css=css, lines=list(lines), tables=[table for table in tables if table.rows])


@cache
def environment(folder: Path) -> Environment:
    """Return the templates of a folder of this package, which escape all text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words: Any = lambda table, k: any(len(row[k]) > WORDS for row in table.rows)
    found.globals |= {"split": split, "words": words}
    found.filters["sentence"] = sentence
    return found
