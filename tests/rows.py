"""Rows of tables in JSON: what a report, an answer or a notebook lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def column(rows: Iterable[Row], name: str) -> list:
    """Return a field of all rows."""
    return [row[name] for row in rows]


def keyed(rows: Iterable[Row], name: str) -> dict[Any, Row]:
    """Return the rows by one of their fields."""
    return {row[name]: row for row in rows}


def find(rows: Iterable[Row], **fields: Any) -> Row:
    """Return the first row with these fields."""
    for row in rows:
        if fields.items() <= row.items():
            return row
    raise LookupError(f"no row has {fields}")
