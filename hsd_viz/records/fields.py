"""Typed values of the JSON that other programs write.

A reader declares the fields that it needs of an object as a :class:`msgspec.Struct`; other fields
are ignored. :func:`typed` checks all of them before anything is computed, so that a field of
another type is a fault of the record and any later exception is one of this package.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from hsd_viz.errors import BadFile

Fields = TypeVar("Fields")
Value = TypeVar("Value")
#: A count or a time, as it is written: a whole number stays one. Beyond the limit it has no float.
Number = Annotated[int, msgspec.Meta(le=10**15)] | float
#: A time that is rounded: neither infinite nor nan.
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
#: Where msgspec found a value of another type: the first name of its path.
_FIRST_NAME = re.compile(r"at (?:key in )?`\$\.(\w+)")


class ResponseUsage(msgspec.Struct):
    """The ``usage`` of a response.

    Attributes:
        completion_tokens: tokens that were emitted.
    """

    completion_tokens: Number | None = None


class _WithUsage(msgspec.Struct):
    """A response.

    Attributes:
        usage: its tokens.
    """

    usage: ResponseUsage | None = None


def typed(value: Mapping[str, Any], kind: type[Fields]) -> Fields:
    """Return the fields of a JSON object.

    Raises:
        BadFile: if a field has another type, or a text is not valid Unicode.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except UnicodeEncodeError:
        raise BadFile("damaged: a text is not valid Unicode") from None
    except msgspec.ValidationError as error:
        name = _FIRST_NAME.search(str(error))
        if name is None:
            raise BadFile(f"damaged: {error}") from None
        quoted = reprlib.repr(value.get(name[1]))
        raise BadFile(f"damaged: {name[1]} is {quoted}, which is not valid") from None


def completion_tokens(response: Mapping[str, Any]) -> Number | None:
    """Return the emitted tokens that a response reports in its usage.

    Raises:
        BadFile: if they are not a number.
    """
    usage = typed(response, _WithUsage).usage
    return None if usage is None else usage.completion_tokens


def first_known(*values: Value | None) -> Value | None:
    """Return the first value that is not ``None``, of those that versions gave several names."""
    return next((value for value in values if value is not None), None)


def nested(value: Any, key: str, depth: int = 5) -> Mapping[str, Any] | None:
    """Return the first mapping inside ``value`` that has a key."""
    if not depth:
        return None
    if isinstance(value, Mapping):
        if key in value:
            return value
        inner: Sequence[Any] = list(value.values())
    elif isinstance(value, list):
        inner = value[:8]
    else:
        return None
    for one in inner:
        if (mapping := nested(one, key, depth - 1)) is not None:
            return mapping
    return None
