"""The header of the native runtime that follows from the declared tables of a trace:
``hsd_viz/native/src/rows.hpp``, with a structure for the rows of each table.

``python -m tools.reference`` writes it. The C++ sets a column by its name, so that a column that
is added or moved in ``tables.toml`` cannot be mistaken for another one.
"""

from __future__ import annotations

import textwrap
import tomllib
from typing import Any

from hsd_viz.decoding.decode import LIKELIEST
from hsd_viz.native.build import SOURCES
from hsd_viz.trace import tables

#: Columns of a line of C++.
COLUMNS = 100
ROWS = SOURCES / "rows.hpp"

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
constexpr int LIKELIEST = {LIKELIEST};

// Likeliest tokens with their probabilities, likeliest first; NONE: there are no more.
struct LikelyTokens {{
    struct {{
        double token = NONE;
        double probability = NONE;
    }} places[LIKELIEST];
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
    lines = [*comment(meaning), f"struct {tables.TABLES[name].row.__name__} {{"]
    for column, declaration in table["columns"].items():
        if "names" in declaration:
            lines += textwrap.wrap(
                f"enum {_camel(column)} {{ {', '.join(map(_constant, declaration['names']))} }};",
                COLUMNS,
                initial_indent="    ",
                subsequent_indent="        ",
            )
    for column, declaration in table["columns"].items():
        if declaration["type"].removesuffix("?") == "top":
            lines.append(f"    LikelyTokens {column};")
        else:
            lines.append(f"    double {column} = NONE;")
    return "\n".join([*lines, "};", ""])


def comment(text: str) -> list[str]:
    """Return a text as lines of a C++ comment."""
    return textwrap.wrap(
        " ".join(text.split()), COLUMNS, initial_indent="// ", subsequent_indent="// "
    )


def _camel(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


def _constant(name: str) -> str:
    return name.upper().replace(" ", "_")
