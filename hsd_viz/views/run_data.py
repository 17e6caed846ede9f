"""A run as sent to the browser: its tables as columns (:mod:`hsd_viz.trace.tables`) and the meta that views show."""

from __future__ import annotations

from typing import Any

from hsd_viz.stack import StackError, parse
from hsd_viz.trace import Step, Trace
from hsd_viz.trace.rows import Record
from hsd_viz.trace.tables import TABLES, Column


def number(value: float | None) -> float | None:
    """Round to six significant digits, which keeps messages short."""
    return None if value is None else float(f"{value:.6g}")


def _short(column: Column, values: list) -> list:
    if column.kind == "float":
        return [number(value) for value in values]
    if column.kind == "top":
        return [top and [[token, number(p)] for token, p in top] for top in values]
    return values


def tables(record: Record) -> dict[str, Any]:
    """Return the tables of a step or a trace, and ``pieces``: token texts by id."""
    columns = {
        name: {column.name: _short(column, record.columns[name][column.name]) for column in table.columns.values()}
        for name, table in TABLES.items()
    }
    return {**columns, "pieces": {str(token): text for token, text in record.pieces.items()}}


def snapshot(trace: Trace) -> dict[str, Any]:
    """Return a whole trace, for a reloaded page or one opened during a run."""
    return {**head(trace.meta), **tables(trace)}


def append(run: str, first: int, steps: list[Step]) -> dict[str, Any]:
    """Return the message with the steps of a live run from number ``first`` on."""
    seq = first + len(steps) - 1
    return {"kind": "append", "run": run, "first": first, "seq": seq, "steps": [tables(step) for step in steps]}


def has_tokens(data: dict[str, Any]) -> bool:
    """Return whether the data of a view are those of a run with tokens."""
    return bool(data and data["tokens"]["token_id"])


def head(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the meta that views show: prompt, its token ids if known, level names, and under ``meta`` the stack,
    sampling, the times (ns) of prefill and of the decode (``None`` until known), and the speed of plain decoding
    measured beside it.
    """
    return {
        "prompt": str(meta.get("prompt", "")),
        "prompt_ids": list(meta.get("prompt_ids") or []),
        "levels": level_names(meta),
        "meta": {
            "stack": str(meta.get("stack_resolved") or meta.get("stack") or ""),
            # Its numbers: the rule is in each round.
            "sampling": {name: value for name, value in (meta.get("sampling") or {}).items() if name != "rule"},
            "prefill_ns": meta.get("prefill_ns"),
            "wall_ns": meta.get("wall_ns"),
            "plain_tokens_per_second": (meta.get("plain") or {}).get("tokens_per_second"),
        },
    }


def verifiers(trace: Trace) -> list[tuple[str, int]]:
    """Return (name, level) of the levels that verified, the target first."""
    names = level_names(trace.meta)
    levels = sorted({r.level for r in trace.round_rows}, reverse=True)
    return [(names[level] if level < len(names) else f"level {level}", level) for level in levels]


def level_names(meta: dict[str, Any]) -> list[str]:
    """Return the name of each level, lowest first; empty if the meta has no valid stack."""
    try:
        parts = parse(str(meta.get("stack_resolved") or meta.get("stack", ""))).parts
    except StackError:
        return []
    # A resolved `auto` lists its levels in order.
    return [name for part in parts for name in (part.items if part.name == "auto" else (part.name,))]
