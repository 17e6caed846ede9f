"""The types of the native runtime's C interface, as annotations."""

from __future__ import annotations

from ctypes import (
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints


@dataclass(frozen=True, slots=True)
class CType:
    """A type of the C interface.

    Attributes:
        spelling: the type in C++.
        ctype: the type in :mod:`ctypes`; ``None`` for ``void``.
    """

    spelling: str
    ctype: Any


Int = Annotated[int, CType("int", c_int)]
Int32 = Annotated[int, CType("int32_t", c_int32)]
Int64 = Annotated[int, CType("int64_t", c_int64)]
Unsigned64 = Annotated[int, CType("uint64_t", c_uint64)]
Double = Annotated[float, CType("double", c_double)]
Text = Annotated[bytes, CType("const char*", c_char_p)]
Nothing = Annotated[None, CType("void", None)]
#: Addresses. Those that are ``const`` are only read by the library.
Bytes = Annotated[Any, CType("const void*", c_void_p)]
BytesOut = Annotated[Any, CType("void*", c_void_p)]
Bytes8 = Annotated[Any, CType("const int8_t*", c_void_p)]
Bytes8Out = Annotated[Any, CType("int8_t*", c_void_p)]
Integers = Annotated[Any, CType("const int32_t*", c_void_p)]
Unsigned = Annotated[Any, CType("const uint32_t*", c_void_p)]
Floats = Annotated[Any, CType("const float*", c_void_p)]
Doubles = Annotated[Any, CType("const double*", c_void_p)]
DoublesAt = Annotated[Any, CType("const double**", c_void_p)]
#: Handles of the library's objects.
ModelHandle = Annotated[Any, CType("Model*", c_void_p)]
ConstModel = Annotated[Any, CType("const Model*", c_void_p)]
SessionHandle = Annotated[Any, CType("Session*", c_void_p)]
ConstSession = Annotated[Any, CType("const Session*", c_void_p)]
Sessions = Annotated[Any, CType("Session* const*", c_void_p)]
DrafterHandle = Annotated[Any, CType("Drafter*", c_void_p)]
DecodeHandle = Annotated[Any, CType("Decode*", c_void_p)]
ConstDecode = Annotated[Any, CType("const Decode*", c_void_p)]


def hints_of(declaration: object) -> dict[str, Any]:
    """Return the annotations of a structure or a function, by name."""
    hints = get_type_hints(declaration, include_extras=True)
    # Annotations of the base class, which begin with an underscore, are not fields.
    return {name: hint for name, hint in hints.items() if not name.startswith("_")}


def c_type_of(hint: Any) -> CType:
    """Return the C type of an annotation.

    Raises:
        TypeError: if the annotation has no type of this module.
    """
    if isinstance(hint, type) and issubclass(hint, Structure):
        return CType(hint.__name__, hint)
    for argument in get_args(hint)[1:]:
        if isinstance(argument, CType):
            return argument
    raise TypeError(f"{hint!r} is not a type of the C interface")
