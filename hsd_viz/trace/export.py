"""Export of a trace as CSV tables."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

from hsd_viz.disk import replacing
from hsd_viz.trace.trace import TABLES, Trace


def csv_tables(trace: Trace) -> dict[str, str]:
    """Return the contents of ``tokens.csv``, ``drafts.csv``, ``rounds.csv`` and ``calls.csv`` by file name.

    The columns are the fields of the rows in :mod:`hsd_viz.trace.records`; lists are JSON text, absent values empty.
    """
    tables = {}
    for table in TABLES:
        frame = trace.frame(table)
        for column in frame.columns:
            frame[column] = [json.dumps(v) if isinstance(v, tuple) else v for v in frame[column]]
        tables[f"{table}.csv"] = frame.to_csv(index=False, lineterminator="\n")
    return tables


def write_csv(trace: Trace, folder: str | os.PathLike) -> list[Path]:
    """Write :func:`csv_tables` into ``folder``, created if missing, and return the paths. All four appear or none.

    Raises:
        OSError: if they cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = csv_tables(trace)
    with ExitStack() as files:
        for name, text in tables.items():
            files.enter_context(replacing(folder / name)).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in tables]
