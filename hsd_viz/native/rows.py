"""Convert rows of the library, whose values are all numbers, to columns of the trace's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hsd_viz.decoding.base_loop import RECORDED_TOP
from hsd_viz.trace.tables import TABLES, Column, Columns, TableColumns


class Names(Protocol):
    """A mapping from the numbers in a column to their values."""

    def __getitem__(self, number: int, /) -> Any:
        """Return the value of a number."""


class Paths:
    """A mapping from the library's number of a path, the sum of 2 to the power of each level, to
    its levels.
    """

    def __getitem__(self, number: int, /) -> list[int]:
        return [level for level in range(number.bit_length()) if number >> level & 1]


def _row_type(table: TableColumns) -> np.dtype:
    """Return the dtype of the library's rows of a table.

    A row has a number per column, and :data:`RECORDED_TOP` pairs for a list of likeliest tokens.
    """
    fields: list[Any] = []
    for column in table.columns.values():
        shape = (RECORDED_TOP, 2) if column.kind == "top" else ()
        fields.append((column.name, "f8", shape))
    return np.dtype(fields)


#: The dtypes of the library's rows, by table.
ROW_TYPES = {name: _row_type(table) for name, table in TABLES.items()}


def columns_of(table: str, rows: bytes, names: Mapping[str, Names]) -> Columns:
    """Return the library's rows of a table as columns.

    Args:
        table: the name of the table.
        rows: the rows in the form of the library.
        names: the values of the numbers in a column, by column, where ``tables.toml`` does not
            declare them.
    """
    numbers = np.frombuffer(rows, ROW_TYPES[table])
    columns: Columns = {}
    for column in TABLES[table].columns.values():
        column_names = names.get(column.name, column.names)
        columns[column.name] = _values(column, numbers[column.name], column_names)
    return columns


def _values(column: Column, numbers: np.ndarray, names: Names) -> list[Any]:
    """Return the values of a column of numbers.

    NaN becomes ``None``: a missing value, or a text that is added later.
    """
    if column.kind == "top":
        return [_likeliest(row) for row in numbers.tolist()]
    if column.kind == "int" and not column.null:
        return numbers.astype(int).tolist()
    value_of = _conversion(column, names)
    missing = None if column.null else ""
    return [missing if number != number else value_of(number) for number in numbers.tolist()]


def _conversion(column: Column, names: Names) -> Callable[[float], Any]:
    """Return a function that converts a number to a value.

    Numbers of texts and paths are keys of ``names``.
    """
    if column.kind == "int":
        return int
    if column.kind == "float":
        return float
    return lambda number: names[int(number)]


def _likeliest(pairs: Sequence[Sequence[float]]) -> list[list[Any]] | None:
    """Return the pairs of token and probability that are filled; ``None`` if there are none."""
    likeliest: list[list[Any]] = []
    for token, probability in pairs:
        if probability == probability:
            likeliest.append([int(token), probability])
    return likeliest or None
