"""Rows of the library as columns of the trace's tables: every value is a number there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hsd_viz.decoding.decode import LIKELIEST
from hsd_viz.trace.tables import TABLES, Column, Columns, TableColumns


class Names(Protocol):
    """What the numbers of a column stand for."""

    def __getitem__(self, number: int, /) -> Any:
        """Return the value of a number."""


class Paths:
    """The levels of a path by the library's number of it: the sum of 2 to the power of each."""

    def __getitem__(self, number: int, /) -> list[int]:
        return [level for level in range(number.bit_length()) if number >> level & 1]


def _row_type(table: TableColumns) -> np.dtype:
    """Return the library's row of a table: a number for each column, and :data:`LIKELIEST` pairs
    for a list of the likeliest tokens.
    """
    fields: list[Any] = []
    for column in table.columns.values():
        shape = (LIKELIEST, 2) if column.kind == "top" else ()
        fields.append((column.name, "f8", shape))
    return np.dtype(fields)


ROW_TYPES = {name: _row_type(table) for name, table in TABLES.items()}


def columns_of(table: str, rows: bytes, names: Mapping[str, Names]) -> Columns:
    """Return the library's rows of a table as columns.

    Args:
        table: its name.
        rows: the rows as the library has them.
        names: what the numbers of a column stand for, where the table does not say it.
    """
    numbers = np.frombuffer(rows, ROW_TYPES[table])
    columns: Columns = {}
    for column in TABLES[table].columns.values():
        column_names = names.get(column.name, column.names)
        columns[column.name] = _values(column, numbers[column.name], column_names)
    return columns


def _values(column: Column, numbers: np.ndarray, names: Names) -> list[Any]:
    """Return the values of a column of numbers; NaN: no value, or a text that is added later."""
    if column.kind == "top":
        return [_likeliest(row) for row in numbers.tolist()]
    if column.kind == "int" and not column.null:
        return numbers.astype(int).tolist()
    value_of = _conversion(column, names)
    missing = None if column.null else ""
    return [missing if number != number else value_of(number) for number in numbers.tolist()]


def _conversion(column: Column, names: Names) -> Callable[[float], Any]:
    """Return what makes the value of a number; those of texts and paths are places in ``names``."""
    if column.kind == "int":
        return int
    if column.kind == "float":
        return float
    return lambda number: names[int(number)]


def _likeliest(pairs: Sequence[Sequence[float]]) -> list[list[Any]] | None:
    """Return tokens with their probabilities, without the places that are not filled."""
    likeliest: list[list[Any]] = []
    for token, probability in pairs:
        if probability == probability:
            likeliest.append([int(token), probability])
    return likeliest or None
