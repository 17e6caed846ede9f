"""The columns of a trace as they are saved: compact, and still JSON.

- Numbers: ``{"i4": base64}`` of little-endian 32-bit integers (null: the smallest), or
  ``{"f8": base64}`` of doubles (null: NaN). Numbers that fit neither stay a list.
- Texts and lists: ``{"of": distinct values, "at": packed places in them}``.
- Lists of the most probable tokens: ``{"n": packed lengths, "ids": packed ids, "shares": packed
  probabilities}``, with the length -1 for null.

A value takes five bytes or more, so that a small file cannot expand to many values.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import numpy as np

from hsd_viz.errors import UserError

#: The integers that a double holds exactly are below this.
_EXACT = 2**53
#: A null among 32-bit integers, and their limits.
_NULL = -(2**31)
_MOST = 2**31


def pack_numbers(values: list, *, whole: bool) -> Any:
    """Return numbers and nulls in the smallest form that holds them; ``whole``: integers."""
    numbers = [value for value in values if value is not None]
    if whole and all(_NULL < value < _MOST for value in numbers):
        return _packed(np.array([_NULL if value is None else value for value in values], "<i4"))
    if all(value == value and abs(value) < _EXACT for value in numbers):
        return _packed(np.array([np.nan if value is None else value for value in values], "<f8"))
    return values


def _packed(numbers: np.ndarray) -> dict[str, str]:
    kind = numbers.dtype.str.removeprefix("<")
    return {kind: b2a_base64(numbers.tobytes(), newline=False).decode()}


def unpack_numbers(packed: Any, *, whole: bool, null: bool) -> list:
    """Return packed numbers; ``null``: some may be missing. A plain list is returned as it is.

    Raises:
        UserError: if they are not finite, or one is missing that may not be.
    """
    if isinstance(packed, list):
        return packed
    ((kind, text),) = packed.items()
    if kind not in ("i4", "f8"):
        raise UserError(f"{kind!r} is not a kind of numbers")
    numbers = np.frombuffer(a2b_base64(text, strict_mode=True), f"<{kind}")
    if np.isinf(numbers).any():
        raise UserError("a number is not finite")
    missing = np.isnan(numbers) if kind == "f8" else numbers == _NULL
    if missing.any() and not null:
        raise UserError("a value is missing")
    values: list = np.where(missing, 0, numbers).astype(int if whole else float).tolist()
    for place in np.flatnonzero(missing).tolist():
        values[place] = None
    return values


def pack_repeated(values: list) -> dict[str, Any]:
    """Return texts or lists, which repeat themselves, as different values and places in them."""
    keys = [tuple(value) if isinstance(value, list) else value for value in values]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    value_places = [places[key] for key in keys]
    return {"of": list(places), "at": pack_numbers(value_places, whole=True)}


def unpack_repeated(different: list, packed_places: Any) -> list:
    """Return the values at packed places of different values.

    Raises:
        IndexError: if a place is not one of them.
    """
    places = unpack_numbers(packed_places, whole=True, null=False)
    if min(places, default=0) < 0:
        raise IndexError("a place is negative")
    return [different[place] for place in places]


def pack_top(values: list) -> dict[str, Any]:
    """Return lists of [token id, probability], or nulls, as columns of numbers."""
    lengths = []
    ids = []
    shares = []
    for value in values:
        lengths.append(-1 if value is None else len(value))
        for token, share in value or ():
            ids.append(token)
            shares.append(share)
    return {
        "n": pack_numbers(lengths, whole=True),
        "ids": pack_numbers(ids, whole=True),
        "shares": pack_numbers(shares, whole=False),
    }


def unpack_top(packed: Any) -> list:
    """Return the lists of :func:`pack_top`.

    Raises:
        UserError: if their lengths are not those of the columns.
    """
    lengths = unpack_numbers(packed["n"], whole=True, null=False)
    ids = unpack_numbers(packed["ids"], whole=True, null=False)
    shares = unpack_numbers(packed["shares"], whole=False, null=True)
    pairs = [[token, share] for token, share in zip(ids, shares, strict=True)]
    if sum(max(length, 0) for length in lengths) != len(pairs):
        raise UserError("its lists have other lengths")
    lists: list[list | None] = []
    begin = 0
    for length in lengths:
        if length < 0:
            lists.append(None)
        else:
            lists.append(pairs[begin : begin + length])
            begin += length
    return lists
