"""What a response reports under one of several names, or beside the text of each of its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records.series import added


def first_of(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first value that there is under one of the names that versions gave it."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def objects_of(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects of a name in the choices of a response."""
    choices = value.get("choices")
    if not isinstance(choices, Sequence):
        return []
    values = [one.get(name) for one in choices if isinstance(one, Mapping)]
    return [one for one in values if isinstance(one, Mapping)]


def total(objects: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Return the sum of a count over choices, ``None`` where one lacks it.

    Raises:
        BadFile: if a count is not a number.
    """
    values = [one.get(name) for one in objects]
    if None in values:
        return None
    whole: float = 0
    for value in values:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise BadFile(f"damaged: {name} is {value!r}, which is not valid")
        whole += value
    return whole


def total_by_place(objects: Sequence[Mapping[str, Any]], name: str) -> tuple[float, ...] | None:
    """Return the sums of a list of counts over choices, ``None`` where one lacks it.

    Raises:
        BadFile: if a list is not one of numbers.
    """
    rows = [one.get(name) for one in objects]
    if not rows or not all(rows):
        return None
    counts = []
    for row in rows:
        if not isinstance(row, list) or not all(type(value) in (int, float) for value in row):
            raise BadFile(f"damaged: {name} is {row!r}, which is not valid")
        counts.append(row)
    return added(counts)
