"""Typed access to JSON written by other programs.

A reader declares the fields that it uses as a :class:`msgspec.Struct`; other fields are ignored.
:func:`typed` validates all of them before anything is computed. A field of a wrong type is thus a
fault of the record, and any later exception is a fault of this package.
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
#: A count or a time, as written; integers stay integers, up to a limit that floats can represent.
Number = Annotated[int, msgspec.Meta(le=10**15)] | float
#: A time that will be rounded, so that it must be finite.
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
#: Matches the first name of the path in an error of msgspec.
_FIRST_NAME = re.compile(r"at (?:key in )?`\$\.(\w+)")


class ResponseUsage(msgspec.Struct):
    """The ``usage`` of a response.

    Attributes:
        completion_tokens: the number of emitted tokens.
    """

    completion_tokens: Number | None = None


class _WithUsage(msgspec.Struct):
    """A response.

    Attributes:
        usage: the token counts.
    """

    usage: ResponseUsage | None = None


def typed(value: Mapping[str, Any], kind: type[Fields]) -> Fields:
    """Return the fields of a JSON object.

    Raises:
        BadFile: if a field has a wrong type, or a text is not valid Unicode.
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
    """Return the number of emitted tokens that a response reports in its usage.

    Raises:
        BadFile: if it is not a number.
    """
    usage = typed(response, _WithUsage).usage
    return None if usage is None else usage.completion_tokens


def first_known(*values: Value | None) -> Value | None:
    """Return the first value that is not ``None``, for fields whose name differs by version."""
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
    for item in inner:
        if (mapping := nested(item, key, depth - 1)) is not None:
            return mapping
    return None
