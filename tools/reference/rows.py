"""``hsd_viz/trace/rows.py`` from the tables of a trace."""

from __future__ import annotations

import re
import textwrap
from itertools import takewhile

from hsd_viz.trace.tables import TABLES, Column, TableColumns

#: Columns of a line of Python.
COLUMNS = 100
_HEAD = '''\
"""The rows of a trace as named tuples.

Written by ``python -m tools.reference`` from ``tables.toml``.
"""

from __future__ import annotations

from typing import NamedTuple

#: The likeliest tokens of a distribution, [token id, probability], likeliest first.
Top = list[list[float]]
'''
_TYPES = {"int": "int", "float": "float", "str": "str", "ints": "list[int]", "top": "Top"}
_INDENT = 4 * " "


def python_rows() -> str:
    """Return the module with the classes of rows."""
    blocks = [_HEAD]
    for table in TABLES.values():
        blocks.append(_class(table))
    names = [table.row_name for table in TABLES.values()]
    lines = [
        "#: A row of any table.",
        f"Row = {' | '.join(names)}",
        "#: The class of the rows of each table.",
        "ROWS: dict[str, type[Row]] = {",
    ]
    for table in TABLES.values():
        lines.append(f'{_INDENT}"{table.name}": {table.row_name},')
    lines.append("}\n")
    blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _class(table: TableColumns) -> str:
    """Return the class of a table's rows."""
    lines = [f"class {table.row_name}(NamedTuple):"]
    lines += _docstring(table)
    lines.append("")
    optional = _optional(table)
    for column in table.columns.values():
        kind = _TYPES[column.kind] + " | None" * column.null
        default = ""
        if column.name in optional:
            default = " = None" if column.default is None else f' = "{column.default}"'
        # `index` and `count` replace methods of tuples, which rows do not need.
        ignored = "  # type: ignore[assignment]" * hasattr(tuple, column.name)
        lines.append(f"{_INDENT}{column.name}: {kind}{default}{ignored}")
    return "\n".join([*lines, ""])


def _optional(table: TableColumns) -> set[str]:
    """Return the columns that a row may leave out: those at its end that may be null or have a
    default.
    """
    last = takewhile(
        lambda column: column.null or column.default is not None,
        reversed(table.columns.values()),
    )
    return {column.name for column in last}


def _docstring(table: TableColumns) -> list[str]:
    """Return the lines of the docstring of a table's rows: its meaning, and that of each column."""
    summary, _, _ = table.meaning.partition("\n\n")
    lines = _wrapped(f'"""{summary}', indent=_INDENT)
    lines += ["", f"{_INDENT}Attributes:"]
    for column in table.columns.values():
        lines += _wrapped(f"{column.name}: {_meaning(column)}.", indent=2 * _INDENT)
    return [*lines, f'{_INDENT}"""']


def _meaning(column: Column) -> str:
    """Return what the values of a column are, with their unit and names, without a full stop."""
    meaning = re.sub(r"`(\w+)`", r"``\1``", column.meaning)
    meaning = meaning.replace("null", "``None``")
    if column.unit and column.unit not in meaning:
        meaning += f", in {column.unit}"
    if column.names:
        names = [f"``{name}``" for name in column.names]
        meaning += f". One of {', '.join(names)}"
    return meaning


def _wrapped(text: str, indent: str) -> list[str]:
    """Return a text as indented lines, those after the first further in for an attribute."""
    further = indent if text.startswith('"') else indent + _INDENT
    return textwrap.wrap(
        text, COLUMNS, initial_indent=indent, subsequent_indent=further, break_long_words=False
    )
