"""The headers of the native runtime that follow from declarations in Python; ``python -m
tools.reference`` writes them.

- ``hsd_viz/native/src/rows.hpp`` has a structure for the rows of each table of a trace. The C++
  sets a column by its name, so that a column that is added or moved in ``tables.toml`` cannot be
  mistaken for another one.
- ``hsd_viz/native/src/interface.hpp`` has the structures and functions of
  :mod:`hsd_viz.native.structures` and :mod:`hsd_viz.native.interface`. The compiler compares them
  with the definitions.
"""

from __future__ import annotations

import ctypes
import inspect
import re
import textwrap
import tomllib
from collections.abc import Sequence
from typing import Any

from hsd_viz.decoding.base_loop import PREFILL_CHUNK, RECORDED_TOP
from hsd_viz.native import interface, structures
from hsd_viz.native.build import SOURCES
from hsd_viz.native.drafter import MAX_KEY_LENGTH
from hsd_viz.native.weights import GROUPS_STORAGE, SLOTS, STORAGE
from hsd_viz.trace import tables

#: Columns of a line of C++.
COLUMNS = 100
ROWS = SOURCES / "rows.hpp"
INTERFACE = SOURCES / "interface.hpp"

_ROWS_HEAD = f"""\
// Written by `python -m tools.reference` from hsd_viz/trace/tables.toml, which has the meanings of
// tables and columns.
//
// The rows of the tables as numbers: a value, the place of a name among those declared (or among
// those of the decode: levels, sources), or NONE for null and for what only Python knows (texts of
// tokens).
#pragma once
#include <cmath>

namespace hsd {{

constexpr double NONE = NAN;

// The likeliest tokens that are recorded of a distribution, at most.
constexpr int RECORDED_TOP = {RECORDED_TOP};

// Likeliest tokens with their probabilities, likeliest first; NONE: there are no more.
struct LikelyTokens {{
    struct {{
        double token = NONE;
        double probability = NONE;
    }} places[RECORDED_TOP];
}};
"""


def rows_header() -> str:
    """Return the C++ header of the rows of all tables."""
    declared = tomllib.loads(tables.DECLARATION.read_text(encoding="utf-8"))
    blocks = [_ROWS_HEAD]
    for name, table in declared.items():
        blocks.append(_row(name, table))
    numbers = ", ".join(f"{name.upper()}_TABLE" for name in declared)
    blocks.append(f"// The numbers of the tables.\nenum TableNumber {{ {numbers} }};\n")
    blocks.append("}  // namespace hsd\n")
    return "\n".join(blocks)


def _row(name: str, table: dict[str, Any]) -> str:
    """Return the structure of a table's rows."""
    meaning, _, _ = table["meaning"].strip().partition("\n\n")
    lines = [*_comment(meaning), f"struct {tables.TABLES[name].row_name} {{"]
    for column, declaration in table["columns"].items():
        if "names" in declaration:
            lines += _enumeration(_camel(column), declaration["names"], indent="    ")
    for column, declaration in table["columns"].items():
        if declaration["type"].removesuffix("?") == "top":
            lines.append(f"    LikelyTokens {column};")
        else:
            lines.append(f"    double {column} = NONE;")
    return "\n".join([*lines, "};", ""])


_INTERFACE_HEAD = """\
// Written by `python -m tools.reference` from hsd_viz/native/structures.py and interface.py.
// clang-format off
#pragma once
#include <cstdint>

namespace hsd {

struct Model;
struct Session;
class Drafter;
struct Decode;
"""


def interface_header() -> str:
    """Return the C++ header of the structures and functions of the library."""
    blocks = [_INTERFACE_HEAD, _numbers()]
    for structure in structures.STRUCTURES:
        blocks.append(_structure(structure))
    blocks.append('#pragma GCC visibility push(default)\nextern "C" {')
    for function in interface.functions().values():
        blocks.append(_prototype(function))
    blocks.append('}  // extern "C"\n#pragma GCC visibility pop\n\n}  // namespace hsd\n')
    return "\n".join(blocks)


def _numbers() -> str:
    """Return the numbers that Python and C++ share."""
    types = {number: name for name, number in STORAGE.items()} | {GROUPS_STORAGE: "int8 groups"}
    return "\n".join(
        [
            "// The types of weights.",
            *_enumeration("Storage", [types[number] for number in range(len(types))]),
            "",
            "// The vectors and matrices of a layer, then those of a whole model.",
            *_enumeration("Slot", SLOTS),
            "",
            "// The most tokens of the prompt that are fed at a time.",
            f"constexpr int PREFILL_CHUNK = {PREFILL_CHUNK};",
            "",
            "// The most tokens of a key that a database of the drafter has.",
            f"constexpr int MAX_KEY_LENGTH = {MAX_KEY_LENGTH};",
            "",
        ]
    )


def _structure(structure: type[ctypes.Structure]) -> str:
    """Return the definition of a structure."""
    meaning, _, attributes = (inspect.getdoc(structure) or "").partition("\n\nAttributes:\n")
    meanings = dict(re.findall(r"^    (\w+): (.*)$", _joined(attributes), re.M))
    lines = [*_comment(meaning), f"struct {structure.__name__} {{"]
    for name, kind in structures.fields_of(structure).items():
        lines += _field(f"    {kind.spelling} {name};", meanings[name].removesuffix("."))
    return "\n".join([*lines, "};", ""])


def _field(declaration: str, meaning: str) -> list[str]:
    """Return a field with its meaning behind it, or above where the line would be too long."""
    (comment, *more) = _comment(meaning)
    line = f"{declaration}  {comment}"
    if more or len(line) > COLUMNS:
        return [*_comment(meaning, indent="    "), declaration]
    return [line]


def _joined(attributes: str) -> str:
    """Return the lines of a docstring's attributes, one for each."""
    return re.sub(r"\n {8}", " ", attributes)


def _prototype(function: interface.Function) -> str:
    """Return the declaration of a function."""
    arguments = [f"{kind.spelling} {name}" for name, kind in function.arguments.items()]
    meaning = function.meaning
    if function.can_fail:
        failure = "null" if function.failure is None else function.failure
        meaning += f" When it fails: {failure}."
    opening = f"{function.result.spelling} {function.name}("
    # An argument stays on its line.
    parameters = ", ".join(arguments).replace(" ", "\0").replace(",\0", ", ")
    lines = textwrap.wrap(f"{opening}{parameters});", COLUMNS, subsequent_indent=" " * len(opening))
    declaration = [line.replace("\0", " ") for line in lines]
    return "\n".join([*_comment(meaning), *declaration])


def _comment(text: str, indent: str = "") -> list[str]:
    """Return a docstring as lines of a C++ comment."""
    plain = re.sub(r":\w+:`~?([\w.]+)`", r"\1", text).replace("``", "")
    start = f"{indent}// "
    return textwrap.wrap(
        " ".join(plain.split()), COLUMNS, initial_indent=start, subsequent_indent=start
    )


def _enumeration(name: str, values: Sequence[str], indent: str = "") -> list[str]:
    """Return the definition of an enumeration whose values count from 0."""
    constants = ", ".join(map(_constant, values))
    return textwrap.wrap(
        f"enum {name} {{ {constants} }};",
        COLUMNS,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
    )


def _camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


def _constant(name: str) -> str:
    return name.upper().replace(" ", "_")
