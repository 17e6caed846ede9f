"""Traces changed for tests."""

from __future__ import annotations

from typing import Any

from hsd_viz.trace import Trace


def change_row(trace: Trace, table: str, k: int, **change: Any) -> None:
    """Change values in row ``k`` of a table."""
    rows = list(trace.rows(table))
    rows[k] = rows[k]._replace(**change)
    setattr(trace, f"{table.removesuffix('s')}_rows", rows)
