"""Columns as they are saved: numbers as base64, and a value that repeats once.

A column of numbers is ``{"i4": ...}`` or ``{"f8": ...}``: base64 of little-endian 32-bit integers (null: the least) or
doubles (null: NaN). Texts and lists are ``{"of": different values, "at": packed places in them}``; lists of the most
probable tokens are ``{"n": packed lengths, "ids": packed ids, "shares": packed probabilities}`` with the length -1 for
null. A column may also be a plain list, as in files of schema 1. No value takes less than five bytes, so that a small
file has few of them.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import numpy as np

from hsd_viz.trace.tables import TABLES, Column, Columns

#: The integers that a double holds exactly are below this; a null among 32-bit integers.
_EXACT, _NULL = 2**53, -(2**31)
_INT, _FLOAT = TABLES["calls"].columns["round"], TABLES["drafts"].columns["p"]


def packed_tables(columns: dict[str, Columns]) -> dict[str, Any]:
    """Return tables as they are saved."""
    return {
        name: {column.name: _pack(column, columns[name][column.name]) for column in table.columns.values()}
        for name, table in TABLES.items()
    }


def _pack(column: Column, values: list) -> Any:
    if column.kind == "top":
        pairs = [pair for value in values if value for pair in value]
        lengths = [-1 if value is None else len(value) for value in values]
        ids, shares = (_pack(of, [pair[k] for pair in pairs]) for k, of in enumerate((_INT, _FLOAT)))
        return {"n": _pack(_INT, lengths), "ids": ids, "shares": shares}
    if column.kind not in ("int", "float"):
        keys = [tuple(value) if isinstance(value, list) else value for value in values]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        return {"of": list(places), "at": _pack(_INT, [places[key] for key in keys])}
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
        of, at = column.checked(packed["of"]), unpack(_INT, packed["at"])
        if min(at, default=0) < 0:
            raise IndexError("a place is negative")
        return list(map(of.__getitem__, at))
    if column.kind == "top":
        lengths = np.array(unpack(_INT, packed["n"]), int)
        ends = np.maximum(lengths, 0).cumsum()
        pairs = list(map(list, zip(unpack(_INT, packed["ids"]), unpack(_FLOAT, packed["shares"]), strict=True)))
        if (ends[-1] if len(ends) else 0) != len(pairs):
            raise ValueError("its lists have other lengths")
        places = zip(lengths.tolist(), ends.tolist(), strict=True)
        return [None if n < 0 else pairs[end - n : end] for n, end in places]
    ((kind, text),) = packed.items()
    if kind not in ("i4", "f8") or column.kind not in ("int", "float"):
        raise ValueError(f"{kind!r} is not a kind of numbers of this column")
    numbers = np.frombuffer(a2b_base64(text, strict_mode=True), f"<{kind}")
    missing = np.isnan(numbers) if kind == "f8" else numbers == _NULL
    if missing.any() and not column.null:
        raise ValueError("a value is missing")
    values: list = np.where(missing, 0, numbers).astype(int if column.kind == "int" else float).tolist()
    for place in np.flatnonzero(missing).tolist():
        values[place] = None
    return values
