"""Pack the columns of a trace into compact JSON, and unpack them.

- Numbers: ``{"i4": base64}`` of little-endian 32-bit integers, where the smallest integer is null,
  or ``{"f8": base64}`` of doubles, where NaN is null. Numbers that fit neither form stay a list.
- Texts and lists: ``{"of": distinct values, "at": packed indices into them}``.
- Lists of the likeliest tokens: ``{"n": packed lengths, "ids": packed ids, "shares": packed
  probabilities}``, with the length -1 for null.

A value takes at least five bytes, so that a small file cannot expand to many values.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import numpy as np

from hsd_viz.errors import UserError

#: The bound below which a double represents all integers exactly.
_EXACT = 2**53
#: The 32-bit integer that encodes null, the smallest.
_NULL = -(2**31)
#: The upper bound (exclusive) of 32-bit integers.
_UPPER_BOUND = 2**31


def pack_numbers(values: list, *, whole: bool) -> Any:
    """Pack numbers and nulls in the smallest lossless form.

    ``whole`` specifies whether all numbers are integers.
    """
    numbers = [value for value in values if value is not None]
    if whole and all(_NULL < value < _UPPER_BOUND for value in numbers):
        return _packed(np.array([_NULL if value is None else value for value in values], "<i4"))
    if all(value == value and abs(value) < _EXACT for value in numbers):
        return _packed(np.array([np.nan if value is None else value for value in values], "<f8"))
    return values


def _packed(numbers: np.ndarray) -> dict[str, str]:
    kind = numbers.dtype.str.removeprefix("<")
    return {kind: b2a_base64(numbers.tobytes(), newline=False).decode()}


def unpack_numbers(packed: Any, *, whole: bool, null: bool) -> list:
    """Unpack numbers. A plain list is returned unchanged.

    Args:
        packed: the packed numbers.
        whole: whether all numbers are integers.
        null: whether values may be missing.

    Raises:
        UserError: if a number is not finite, or if a value is missing that must not be.
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
    """Pack texts or lists, which often repeat, as distinct values and indices into them."""
    keys = [tuple(value) if isinstance(value, list) else value for value in values]
    indices = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    value_indices = [indices[key] for key in keys]
    return {"of": list(indices), "at": pack_numbers(value_indices, whole=True)}


def unpack_repeated(distinct: list, packed_indices: Any) -> list:
    """Unpack values from distinct values and packed indices into them.

    Raises:
        IndexError: if an index is out of range.
    """
    indices = unpack_numbers(packed_indices, whole=True, null=False)
    if min(indices, default=0) < 0:
        raise IndexError("a place is negative")
    return [distinct[index] for index in indices]


def pack_top(values: list) -> dict[str, Any]:
    """Pack lists of [token id, probability], or nulls, as columns of numbers."""
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
    """Unpack the lists that :func:`pack_top` packed.

    Raises:
        UserError: if the lengths do not match the columns.
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
