"""``trace.md`` from the tables of a trace, and ``records.md`` from the forms of engines."""

from __future__ import annotations

import inspect
import sys

from hsd_viz.records.engines.registry import PATTERNS  # noqa: F401 (the engines declare their forms)
from hsd_viz.records.forms import FORMS, engines_with_forms
from hsd_viz.trace.tables import TABLES, Column, TableColumns
from tools.reference.markdown import GENERATED, cell, prose

_JSON = {"int": "integer", "float": "number", "str": "text", "ints": "list of integers"}
_JSON["top"] = "list of [token id, probability]"


def trace_reference() -> str:
    """Return the reference of the tables of a trace as Markdown."""
    parts = [
        "# The record of a decode",
        GENERATED,
        prose(inspect.getdoc(sys.modules[TableColumns.__module__]) or ""),
    ]
    for table in TABLES.values():
        parts += [f"## `{table.name}`", table.meaning]
        rows = [
            f"| `{c.name}` | {_type(c)} | {cell(_description(c))} |" for c in table.columns.values()
        ]
        parts.append("\n".join(["| column | type | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def records_reference() -> str:
    """Return the forms of records that are read, by engine, as Markdown."""
    parts = [
        "# Forms of records",
        GENERATED,
        "What `hsd-viz import`, `doctor` and `predict --records` read, the versions whose text "
        "was compared with the reader, and where they are shown. A file may be text, JSON lines, "
        "a JSON array, one JSON object, the events of a stream, or lines that a container runtime "
        "or a log collector wrapped in JSON; colours and prefixes do not matter, and it may be "
        "gzipped. A line of an unknown form is counted and shown.",
    ]
    for engine in engines_with_forms():
        rows = [
            "| form | seen in | starts with | reports |",
            "| --- | --- | --- | --- |",
        ]
        for form in FORMS:
            if form.engine == engine:
                sample = form.sample.replace("|", "\\|")
                name = f"[{form.name}]({form.source})"
                rows.append(f"| {name} | {form.seen_in} | `{sample}` | {form.reports} |")
        parts += [f"## {engine}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _type(column: Column) -> str:
    return _JSON[column.kind] + ", or null" * column.null + f" ({column.unit})" * bool(column.unit)


def _description(column: Column) -> str:
    meaning = column.meaning[:1].upper() + column.meaning[1:]
    if not column.names:
        return meaning
    return f"{meaning}: {', '.join(f'`{name}`' for name in column.names)}"
