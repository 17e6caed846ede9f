"""The records of serving engines in ``fixtures/records``."""

from __future__ import annotations

import json
from pathlib import Path

RECORDS = Path(__file__).parent / "fixtures" / "records"


def written_by_engines() -> list[Path]:
    """Return the records that engines wrote; those of ``cases.json`` are written by hand."""
    cases = RECORDS / "cases.json"
    by_hand = {case["file"] for case in json.loads(cases.read_text(encoding="utf-8"))}
    names = [path.name for path in RECORDS.iterdir() if path != cases]
    return [RECORDS / name for name in sorted(set(names) - by_hand)]
