"""Figures of the choices of a response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from hsd_viz.records.fields import Number, typed
from hsd_viz.records.series import added

Fields = TypeVar("Fields")


def of_choices(response: Mapping[str, Any], name: str, kind: type[Fields]) -> list[Fields]:
    """Return the object with a name in each choice of a response.

    Raises:
        BadFile: if a field has another type.
    """
    choices = response.get("choices")
    if not isinstance(choices, Sequence):
        return []
    values = [choice.get(name) for choice in choices if isinstance(choice, Mapping)]
    return [typed(value, kind) for value in values if isinstance(value, Mapping)]


def sum_over_choices(counts: Iterable[Number | None]) -> Number | None:
    """Return the sum of a count over choices, ``None`` where one lacks it or there is none."""
    values = list(counts)
    reported = [count for count in values if count is not None]
    return sum(reported) if reported and len(reported) == len(values) else None


def sum_by_place(lists: Iterable[Sequence[Number] | None]) -> tuple[float, ...] | None:
    """Return the sums of a list of counts over choices, ``None`` where one lacks it."""
    rows: list[Sequence[Number]] = []
    for counts in lists:
        if not counts:
            return None
        rows.append(counts)
    return added(rows) if rows else None
