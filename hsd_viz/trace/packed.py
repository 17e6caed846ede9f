"""Columns as they are saved: numbers as base64, and a value that repeats once.

A column of numbers is ``{"i4": ...}`` or ``{"f8": ...}``: base64 of little-endian 32-bit integers (null: the least) or
doubles (null: NaN). Texts and lists are ``{"of": different values, "at": packed places in them}``; lists of the most
probable tokens are ``{"n": packed lengths, "ids": packed ids, "shares": packed probabilities}`` with the length -1 for
null. A column may also be a plain list, as in files of schema 1. No value takes less than five bytes, so that a small
file has few of them.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from itertools import accumulate
from typing import Any

import numpy as np

from hsd_viz.trace.tables import TABLES, Column, Columns

#: The integers that a double holds exactly are below this; a null among 32-bit integers.
_EXACT, _NULL = 2**53, -(2**31)


def pack(column: Column, values: list) -> Any:
    """Return a column as it is saved."""
    if column.kind in ("int", "float"):
        return _numbers(column, values)
    if column.kind == "top":
        pairs = [pair for value in values if value for pair in value]
        ids, shares = [token for token, _ in pairs], [p for _, p in pairs]
        lengths = [-1 if value is None else len(value) for value in values]
        return {"n": _numbers(_INT, lengths), "ids": _numbers(_INT, ids), "shares": _numbers(_FLOAT, shares)}
    keys = [tuple(value) if isinstance(value, list) else value for value in values]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return {"of": list(places), "at": _numbers(_INT, [places[key] for key in keys])}


def _numbers(column: Column, values: list) -> Any:
    known = [value for value in values if value is not None]
    if column.kind == "int" and all(_NULL < value < -_NULL for value in known):
        numbers = np.array([_NULL if value is None else value for value in values], "<i4")
    elif all(value == value and abs(value) < _EXACT for value in known):
        numbers = np.array([np.nan if value is None else value for value in values], "<f8")
    else:
        return values
    return {numbers.dtype.str[1:]: b2a_base64(numbers.tobytes(), newline=False).decode()}


def unpack(column: Column, packed: Any) -> list:
    """Return the values of a saved column; of an invalid one raise what :meth:`Table.checked` reports."""
    if isinstance(packed, list):
        return column.checked(packed)
    if "of" in packed:
        of = column.checked(packed["of"])
        at = _values(_INT, packed["at"])
        if at and min(at) < 0:
            raise IndexError("a place is negative")
        return [of[place] for place in at]
    if column.kind != "top":
        return _values(column, packed)
    ids, shares = _values(_INT, packed["ids"]), _values(_FLOAT, packed["shares"])
    pairs, lengths = list(map(list, zip(ids, shares, strict=True))), _values(_INT, packed["n"])
    ends = list(accumulate(max(0, n) for n in lengths))
    if (ends[-1] if ends else 0) != len(pairs):
        raise ValueError("its lists have other lengths")
    return [None if n < 0 else pairs[end - n : end] for n, end in zip(lengths, ends, strict=True)]


def _values(column: Column, packed: dict[str, str]) -> list:
    """Return packed numbers."""
    ((kind, text),) = packed.items()
    if kind not in ("i4", "f8") or column.kind not in ("int", "float"):
        raise ValueError(f"{kind!r} is not a kind of numbers of this column")
    numbers = np.frombuffer(a2b_base64(text, strict_mode=True), f"<{kind}")
    missing = numbers == _NULL if kind == "i4" else np.isnan(numbers)
    if missing.any() and not column.null:
        raise ValueError("a value is missing")
    if column.kind == "int" and kind == "f8":
        numbers = np.where(missing, _NULL, numbers).astype(np.int64)
    values: list = numbers.astype(float).tolist() if column.kind == "float" else numbers.tolist()
    for place in np.flatnonzero(missing).tolist():
        values[place] = None
    return values


_INT, _FLOAT = TABLES["calls"].columns["round"], TABLES["drafts"].columns["p"]


def packed_tables(columns: dict[str, Columns]) -> dict[str, Any]:
    """Return tables as they are saved."""
    return {
        name: {column.name: pack(column, columns[name][column.name]) for column in table.columns.values()}
        for name, table in TABLES.items()
    }
