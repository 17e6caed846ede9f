"""Rows of tables: dictionaries of JSON, as in a report, or values with attributes, as in a
trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def field(row: Any, name: str) -> Any:
    """Return a field of a row."""
    return row[name] if isinstance(row, Mapping) else getattr(row, name)


def column(rows: Iterable[Any], name: str) -> list:
    """Return a field of all rows."""
    return [field(row, name) for row in rows]


def keyed(rows: Iterable[Any], name: str) -> dict[Any, Any]:
    """Return the rows by one of their fields."""
    return {field(row, name): row for row in rows}


def select(rows: Iterable[Any], **fields: Any) -> list:
    """Return the rows with these fields."""
    selected = []
    for row in rows:
        if _has(row, fields):
            selected.append(row)
    return selected


def find(rows: Iterable[Any], **fields: Any) -> Any:
    """Return the first row with these fields."""
    for row in rows:
        if _has(row, fields):
            return row
    raise LookupError(f"no row has {fields}")


def _has(row: Any, fields: Mapping[str, Any]) -> bool:
    return all(field(row, name) == value for name, value in fields.items())
