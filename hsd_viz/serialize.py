"""Frozen dataclasses as JSON data and back, by their type hints.

An :class:`~hsd_viz.intervals.Estimate` becomes two keys, ``name`` and ``name_ci: [low, high]``, and is not read back.
The field metadata ``bare`` makes a field's value that of the whole record. A mapping of tuples becomes a list of
``[*key, value]``. When read, keys that are missing take the field's default, and keys without a field are ignored.
"""

import functools
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hsd_viz.intervals import Estimate

T = TypeVar("T")
R = TypeVar("R", bound="Record")
_SCALARS = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}


class Record:
    """Methods of a dataclass that is JSON data by itself."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return to_dict(self)

    @classmethod
    def from_dict(cls: type[R], data: Any) -> R:
        """Return the record of :meth:`to_dict`. Raises: ValueError: if the data have another form."""
        try:
            return from_dict(cls, data)
        except (KeyError, TypeError, AttributeError) as error:
            form = f"unexpected form of its parts ({type(error).__name__})"
            raise ValueError(f"not a {cls.__name__.lower()}: {form}") from None


def to_dict(record: Any) -> dict[str, Any]:
    """Return a dataclass instance as JSON data."""
    data: dict[str, Any] = {}
    for field, hint in _fields(type(record)):
        key, value = field.name, getattr(record, field.name)
        if isinstance(value, Estimate):
            data[key] = value.value
            data[f"{key}_ci"] = None if value.ends is None else list(value.ends)
        elif _has_tuples(hint):
            data[key] = [[*pair, _to_data(item)] for pair, item in value.items()]
        else:
            data[key] = _to_data(value)
    return data


def from_dict(kind: type[T], data: Any) -> T:
    """Read an instance of the dataclass ``kind`` from JSON data. Raises: KeyError: if a field without a default is
    missing. TypeError: if a value is not of the field's type.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"{kind.__name__} needs an object, not {type(data).__name__}")
    values = {}
    for field, hint in _fields(kind):
        key = field.name
        required = field.default is MISSING and field.default_factory is MISSING
        if key not in data and not required:
            continue
        values[key] = _read(hint, data[key])
    return kind(**values)


def _to_data(value: Any) -> Any:
    if is_dataclass(value):
        bare = _bare(type(value))
        return to_dict(value) if bare is None else _to_data(getattr(value, bare[0].name))
    if isinstance(value, Mapping):
        return {key: _to_data(item) for key, item in value.items()}
    return [_to_data(item) for item in value] if isinstance(value, list | tuple) else value


@functools.cache
def _fields(kind: type) -> list[tuple[Field, Any]]:
    hints = get_type_hints(kind)
    return [(field, hints[field.name]) for field in fields(kind)]


def _bare(kind: type) -> tuple[Field, Any] | None:
    return next((pair for pair in _fields(kind) if pair[0].metadata.get("bare")), None)


def _has_tuples(hint: Any) -> bool:
    """Return whether ``hint`` is a mapping of tuples."""
    return get_origin(hint) in (dict, Mapping) and get_origin(get_args(hint)[0]) is tuple


def _read(hint: Any, value: Any) -> Any:
    if hint is Any:
        return value
    if is_dataclass(hint):
        if bare := _bare(hint):
            return hint(_read(bare[1], value))
        return hint.from_dict(value) if issubclass(hint, Record) else from_dict(hint, value)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in parts if part is not type(None))
        return None if value is None else _read(inner, value)
    if _has_tuples(hint) and isinstance(value, list):
        return {_read(parts[0], key): _read(parts[1], item) for *key, item in value}
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {parts[0](key): _read(parts[1], item) for key, item in value.items()}
    if origin is tuple and isinstance(value, list | tuple):
        kinds = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(_read(part, item) for part, item in zip(kinds, value, strict=True))
    if isinstance(value, _SCALARS.get(hint, ())) and (hint is bool or not isinstance(value, bool)):
        return hint(value)
    raise TypeError(f"{value!r} is not of type {hint}")
