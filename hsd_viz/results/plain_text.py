"""Writes results as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from hsd_viz.results.table import Table


def plain(parts: Iterable[str | Table]) -> str:
    """Return lines and tables as text.

    The first column of a table is left-aligned, the others are right-aligned.
    """
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
        else:
            lines += _table_lines(part)
    return "\n".join(lines)


def _table_lines(table: Table) -> list[str]:
    names = [table.title, table.note.rstrip(":")]
    lines = ["", ": ".join(filter(None, names))]
    rows = table.cells()
    if not rows:
        return lines
    label_width, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        texts = [name.ljust(label_width)]
        for cell, width in zip(cells, widths, strict=True):
            texts.append(cell.rjust(width))
        lines.append("  ".join(texts).rstrip())
    return lines
