"""Small HTML for the representations of objects in notebooks: tables and facts, all text escaped. Pure.

Styles are inline and colours inherited, so that the result is readable on any page, also where scripts and style sheets
are removed (GitHub, Quarto, nbconvert).
"""

import html
from collections.abc import Iterable, Sequence

_QUIET = "opacity:.75;font-size:.9em"
_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top;white-space:pre-wrap"


def escape(text: object) -> str:
    """Escape text for HTML; lone surrogates become U+FFFD."""
    return html.escape(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; the first cell of a row is its header."""
    cells = lambda row: "".join(f'<td style="{_CELL}">{escape(value)}</td>' for value in row)
    first = lambda value: f'<th scope="row" style="{_CELL};font-weight:500">{escape(value)}</th>'
    body = "".join(f"<tr>{first(row[0])}{cells(row[1:])}</tr>" for row in rows)
    names = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in head)
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def line(text: object) -> str:
    """Return a line of small text, or "" without text."""
    return f'<div style="{_QUIET}">{escape(text)}</div>' if text else ""


def card(kind: str, title: object, *parts: str) -> str:
    """Return a titled block: the ``kind`` of object, its title, and parts that are HTML already."""
    head = f"<div><strong>{escape(kind)}</strong> <code>{escape(title)}</code></div>"
    return f'<div style="max-width:100ch">{head}{"".join(parts)}</div>'
