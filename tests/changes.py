"""Traces changed for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hsd_viz.trace import CallRow, RoundRow, TokenRow, Trace
from hsd_viz.trace.tables import TABLES


def change_row(trace: Trace, table: str, k: int, **change: Any) -> None:
    """Change values in row ``k`` of a table."""
    set_values(trace, table, k, change)


def set_values(trace: Trace, table: str, k: int, values: Mapping[str, Any]) -> None:
    """Set values in row ``k`` of a table."""
    for name, value in values.items():
        trace.columns[table][name][k] = value


def replace_rows(trace: Trace, table: str, rows: Iterable[tuple]) -> None:
    """Replace the rows of a table."""
    trace.columns[table] = dict(
        zip(TABLES[table].columns, map(list, zip(*rows, strict=True)), strict=True)
    )


def plain_trace(tokens: int, seconds: float) -> Trace:
    """A plain decode after a second of prefill: one token per round, at equal intervals."""
    trace = Trace({"wall_ns": round((1 + seconds) * 1e9), "prefill_ns": 10**9})
    for k in range(tokens):
        trace.add_rows(tokens=[TokenRow(k, k, "x", None, k, "plain", "target", [0], 0)])
        end = round((1 + seconds * (k + 1) / tokens) * 1e9)
        trace.add_rows(rounds=[RoundRow(k, None, 0, 0, 0, 0, "plain", "no match", end, 0)])
        trace.add_rows(calls=[CallRow(k, 0, "target", "verify", 1, 1, 0, 0, 0)])
    return trace


def channels(colour: str) -> list[float]:
    """Return red, green and blue of ``#rrggbb`` from 0 to 1."""
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast of two colours as WCAG has it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(rgb: list[float]) -> float:
    """Return the relative luminance of a colour as WCAG has it."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
