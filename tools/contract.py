"""Write the TypeScript types of what Python sends to the page.

    python -m tools.contract

Reads :mod:`hsd_viz.views.contract` and writes ``js/lib/contract.ts``.
"""

from __future__ import annotations

import dataclasses
import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hsd_viz.disk import write_whole
from hsd_viz.views import contract

FILE = Path(__file__).resolve().parents[1] / "js" / "lib" / "contract.ts"
_PLAIN: dict[Any, str] = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}


def is_row(kind: Any) -> bool:
    """Return whether a type is a named tuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def declared() -> list[type]:
    """Return the types of the contract, in order."""
    own = [v for v in vars(contract).values() if isinstance(v, type) and v.__module__ == contract.__name__]
    return [kind for kind in own if is_row(kind) or dataclasses.is_dataclass(kind)]


def typescript(kind: Any, rows: bool) -> str:
    """Return a type in TypeScript; with ``rows``, named tuples are lists, as they travel."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(typescript(part, rows) for part in inner))
    if origin is list:
        part = typescript(inner[0], rows)
        return f"({part})[]" if "|" in part else f"{part}[]"
    if origin is dict:
        return f"Record<string, {typescript(inner[1], rows)}>"
    if origin is tuple:
        return f"[{', '.join(typescript(part, rows) for part in inner)}]"
    return f"{kind.__name__}Row" if rows and is_row(kind) else kind.__name__


def source() -> str:
    """Return the TypeScript module."""
    blocks = ["// Written by `python -m tools.contract` from hsd_viz/views/contract.py."]
    for kind in declared():
        base = next((b for b in kind.__bases__ if dataclasses.is_dataclass(b)), None)
        hints = {n: t for n, t in get_type_hints(kind).items() if base is None or n not in get_type_hints(base)}
        # An event is made on the page, from rows that have become objects.
        rows = kind is not contract.Event
        head = f"export interface {kind.__name__}" + (f" extends {base.__name__}" if base else "")
        fields = [f"  {name}: {typescript(hint, rows)};" for name, hint in hints.items()]
        about = re.sub(r":class:`[\w.]*?(\w+)`", r"\1", " ".join((kind.__doc__ or "").split())).replace("``", "`")
        block = [f"/** {about} */", f"{head} {{", *fields, "}"]
        if is_row(kind):
            items = [f"  {name}: {typescript(hint, True)}," for name, hint in hints.items()]
            names = [f'  "{name}",' for name in hints]
            block += [f"export type {kind.__name__}Row = [", *items, "];"]
            block += [f"export const {kind.__name__.upper()} = [", *names, "] as const;"]
        blocks.append("\n".join(block))
    return "\n\n".join(blocks) + "\n"


def conforms(value: Any, kind: Any) -> bool:
    """Return whether a JSON value is of a type of the contract."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in inner
    if origin in (Union, types.UnionType):
        return any(conforms(value, part) for part in inner)
    if origin is list:
        return isinstance(value, list) and all(conforms(v, inner[0]) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(k, str) and conforms(v, inner[1]) for k, v in value.items())
    if origin is tuple:
        return len(value) == len(inner) and all(map(conforms, value, inner))
    if is_row(kind):
        hints = get_type_hints(kind)
        return len(value) == len(hints) and all(map(conforms, value, hints.values()))
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return value.keys() == hints.keys() and all(conforms(value[name], hints[name]) for name in hints)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


if __name__ == "__main__":
    write_whole(FILE, source())
