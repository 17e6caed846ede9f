"""A trace in other programs' formats."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from hsd_viz.trace.trace import TABLES, Trace


def write_csv(trace: Trace, folder: str | os.PathLike) -> list[Path]:
    """Write ``tokens.csv``, ``drafts.csv``, ``rounds.csv`` and ``calls.csv`` into ``folder``, made where it is missing.

    The columns are the fields of the rows in :mod:`hsd_viz.trace.records`; lists are JSON text, absent values empty. All four
    files appear, or none does. Returns their paths; raises ``OSError`` where they cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".csv.") as fresh:
        for table in TABLES:
            frame = trace.frame(table)
            for column in frame.columns:
                frame[column] = [json.dumps(v) if isinstance(v, tuple) else v for v in frame[column]]
            frame.to_csv(Path(fresh) / f"{table}.csv", index=False, lineterminator="\n")
        paths = [folder / f"{table}.csv" for table in TABLES]
        for path in paths:
            os.replace(Path(fresh) / path.name, path)
    return paths
