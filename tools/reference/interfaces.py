"""Types of TypeScript from dataclasses: an interface for each, with what its fields mean."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hsd_viz.views.app.traffic_spec import SPECS
from tools.reference.typescript import doc_comment

#: The ending of a class whose interface has the rest of its name.
ENDING = "Spec"
_PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def typescript_traffic() -> str:
    """Return the types of what the views of the visitor's traffic get."""
    blocks = [
        "// Written by `python -m tools.reference` from hsd_viz/views/app/traffic_spec.py.",
        *map(interface, SPECS),
    ]
    return "\n\n".join(blocks) + "\n"


def interface(declaration: type) -> str:
    """Return the interface of a dataclass, which extends that of its base.

    Raises:
        KeyError: for a field without a meaning under ``Attributes:``.
        TypeError: for a field whose type JSON does not have.
    """
    summary, _, attributes = (inspect.getdoc(declaration) or "").partition("\n\nAttributes:\n")
    meanings = dict(_meanings(attributes))
    types = get_type_hints(declaration)
    base = declaration.__base__
    extends = "" if base in (None, object) else f" extends {_name(base)}"
    lines = [doc_comment(summary), f"export interface {_name(declaration)}{extends} {{"]
    for name in inspect.get_annotations(declaration):
        lines.append(doc_comment(_sentence(meanings[name]), indent="  "))
        lines.append(f"  {name}: {_type(types[name])};")
    return "\n".join([*lines, "}"])


def _meanings(attributes: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a section of attributes with their meanings."""
    for entry in re.split(r"\n(?=    \S)", attributes.rstrip()):
        name, _, meaning = " ".join(entry.split()).partition(": ")
        yield name, meaning


def _sentence(meaning: str) -> str:
    return meaning[:1].upper() + meaning[1:]


def _name(declaration: type) -> str:
    return declaration.__name__.removesuffix(ENDING)


def _type(kind: Any) -> str:
    """Return a type as TypeScript has it."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, UnionType):
        return " | ".join(map(_type, get_args(kind)))
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return f"{_type(item)}[]"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " | ".join(f'"{member.value}"' for member in kind)
    if kind in SPECS:
        return _name(kind)
    raise TypeError(f"a field of the page cannot be {kind}")
