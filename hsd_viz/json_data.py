"""Objects of JSON data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def from_fields(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return an object of a dataclass, or of a structure of ctypes, with the fields of a JSON
    object; values keep their types.

    Args:
        kind: the class.
        values: fields by name; those with a default may be missing.

    Raises:
        TypeError: if a field is missing or unknown.
    """
    return kind(**values)
