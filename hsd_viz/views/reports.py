"""Saved reports of ``hsd-viz bench --json``: those that come with the project, and one from a reader's own file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from hsd_viz.bench.report import read_report
from hsd_viz.bench.tables import introduction, tables
from hsd_viz.views.linked import STATIC

_PACKAGE = Path(__file__).resolve().parents[1]
#: Where the project's own measurements lie: within an installed package, or beside it in a checkout.
FOLDERS = (_PACKAGE / "bench" / "measured", _PACKAGE.parent / "docs" / "bench")
MAX_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Saved:
    """A file with a report; ``title`` says what was measured how."""

    title: str
    path: Path


def measured_file(name: str) -> Path | None:
    """A file of the project's own measurements, where it is installed with them."""
    return next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)


def saved_reports() -> list[Saved]:
    """The reports among the project's own measurements; files of other forms are passed over."""
    folder = next((f for f in FOLDERS if f.is_dir()), None)
    found = []
    for path in sorted(folder.glob("*.json")) if folder else ():
        try:
            found.append(Saved(title_of(read_report(path.read_text(encoding="utf-8"), path.name)), path))
        except (OSError, ValueError):
            continue
    return found


def title_of(report: dict[str, Any]) -> str:
    """What was measured, how, on what."""
    settings, machine = report["settings"], report["machine"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    cuda = str(settings["device"]).startswith("cuda")
    where = machine["gpu"] if cuda else f"{settings['threads']} thread{'' if settings['threads'] == 1 else 's'} of a CPU"
    return f"{report['suite']['name']}, {how}, {where}, {len(report['stacks'])} stacks"


def report_of(content: bytes, name: str) -> dict[str, Any]:
    """A report from the bytes of a file. Raises ``ValueError`` with one sentence for what is none."""
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} has {len(content) / 1e6:.0f} MB, this page takes reports up to {MAX_BYTES / 1e6:.0f} MB")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no report of hsd-viz bench --json") from None
    return read_report(text, name)


def fastest(report: dict[str, Any], most: int) -> list[str]:
    """The stacks with a draft, the fastest first, ``most`` of them at the most."""
    drafted = [s for s in report["stacks"] if s["mean_acceptance_length"] and s["mean_acceptance_length"] > 1]
    drafted.sort(key=lambda s: -(s["tokens_per_second"] or 0))
    return [s["stack"] for s in drafted[:most]]


class ReportTables(anywidget.AnyWidget):
    """The tables of a report, as the terminal shows them."""

    _esm = STATIC / "tables.js"

    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, report: dict[str, Any]) -> None:
        parts = [{"title": t.title, "note": t.note, "rows": [[str(c) for c in row] for row in t.rows]} for t in tables(report)]
        # What the browser gets is plain JSON, whatever a report holds.
        super().__init__(spec=json.loads(json.dumps({"intro": list(introduction(report)), "tables": parts})))
