"""What the page has in TypeScript and JSON: tables of a trace, settings, facts of the elements."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.results.drafter_names import DRAFTER_NAMES
from hsd_viz.settings.declare import fields_of
from hsd_viz.stack import MAX_LOOKAHEAD, draft_sources
from hsd_viz.trace.tables import TABLES, Column
from hsd_viz.views.page_data import page_palette

#: Columns of a line of TypeScript.
COLUMNS = 100
#: The largest whole number that JavaScript represents exactly.
MAX_SAFE_INTEGER = 2**53 - 1


_TYPESCRIPT = {"int": "number", "float": "number", "str": "string", "ints": "number[]"}
_TYPESCRIPT["top"] = "[number, number][]"


def typescript() -> str:
    """Return the TypeScript types of the tables of a trace. What columns mean is in the
    reference alone.
    """
    blocks = [
        "// Written by `python -m tools.reference` from hsd_viz/trace/tables.toml, "
        "which has the meanings."
    ]
    tables = ""
    for table in TABLES.values():
        row = table.row_name.removesuffix("Row")
        comment = doc_comment(table.meaning.split("\n\n")[0])
        columns = "".join(map(_property, table.columns.values()))
        blocks.append(f"{comment}\nexport interface {row} {{\n{columns}}}")
        tables += f"  {table.name}: Columns<{row}>;\n"
    blocks.append(_column_names())
    blocks.append("/** A table as it travels: a list of values for each column. */")
    blocks[-1] += "\nexport type Columns<Row> = { [Name in keyof Row]: Row[Name][] };"
    blocks.append(
        f"/** The tables of a step or of a run. */\nexport interface Tables {{\n{tables}}}"
    )
    return "\n\n".join(blocks) + "\n"


def _column_names() -> str:
    """Return the names of the columns by table, as a constant of TypeScript."""
    lines = ["/** The columns of each table, in their order. */", "export const COLUMNS = {"]
    for table in TABLES.values():
        lines.append(f"  {table.name}: [")
        for name in table.columns:
            lines.append(f'    "{name}",')
        lines.append("  ],")
    lines.append("} as const;")
    return "\n".join(lines)


def doc_comment(text: str, indent: str = "") -> str:
    """Return a comment of TypeScript, over several lines if one would be too long."""
    comment = f"{indent}/** {text} */"
    if len(comment) <= COLUMNS:
        return comment
    start = f"{indent} * "
    lines = textwrap.wrap(text, COLUMNS, initial_indent=start, subsequent_indent=start)
    return "\n".join([f"{indent}/**", *lines, f"{indent} */"])


def _property(column: Column) -> str:
    """Return the line of a column in the interface of its table."""
    kind = " | ".join(f'"{name}"' for name in column.names) or _TYPESCRIPT[column.kind]
    null = " | null" * (column.null and not column.observed)
    return f"  {column.name}: {kind}{null};\n"


def typescript_settings() -> str:
    """Return the numeric settings of a decode, and the largest lookahead, as TypeScript."""
    lines = [
        "// Written by `python -m tools.reference` from hsd_viz/decoding/options.py and "
        "hsd_viz/stack/.",
        "",
        doc_comment("Draft tokens of a model in a round, at most."),
        f"export const MAX_LOOKAHEAD = {MAX_LOOKAHEAD};",
        "",
        doc_comment(
            "A setting of a decode that is a number; `high` is null if there is no largest value."
        ),
        "export interface Setting {",
        "  words: string;",
        "  label: string;",
        "  whole: boolean;",
        "  low: number;",
        "  aboveLow: boolean;",
        "  high: number | null;",
        "  formLow: number;",
        "  formHigh: number;",
        "  usual: number;",
        "}",
        "export const SETTINGS = {",
    ]
    for declared in fields_of(DecodingOptions):
        setting = declared.setting
        limits = setting.range
        form = setting.form
        if limits is None or form is None:
            continue
        high = limits.high
        if high is not None and high > MAX_SAFE_INTEGER:
            high = None
        form_low = limits.low if form.low is None else form.low
        form_high = limits.high if form.high is None else form.high
        assert form_high is not None, f"the form needs a largest {declared.name}"
        lines += [
            f"  {declared.name}: {{",
            f'    words: "{setting.noun}",',
            f'    label: "{form.label}{limits.off_text}",',
            f"    whole: {str(declared.type is int).lower()},",
            f"    low: {limits.low:g},",
            f"    aboveLow: {str(limits.above_low).lower()},",
            f"    high: {'null' if high is None else _number(high)},",
            f"    formLow: {_number(form_low)},",
            f"    formHigh: {_number(form_high)},",
            f"    usual: {_number(declared.default)},",
            "  },",
        ]
    lines += [
        "} as const satisfies Record<string, Setting>;",
        "export type SettingName = keyof typeof SETTINGS;",
        "export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];",
    ]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def element_facts() -> str:
    """Return what elements have without a host, as JSON: the palette, the draft sources, and the
    columns that traces written by earlier versions do not have, with the value that stands for
    them.
    """
    later: dict[str, dict[str, Any]] = {}
    for table, description in TABLES.items():
        for column in description.columns.values():
            if column.later:
                later.setdefault(table, {})[column.name] = column.default
    facts = {
        "palette": page_palette(),
        "sources": {name: list(items) for name, items in draft_sources().items()},
        "later": later,
    }
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def drafter_names() -> str:
    """Return the names of the draft sources as JSON."""
    return json.dumps(DRAFTER_NAMES, indent=1) + "\n"
