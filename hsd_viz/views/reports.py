"""Saved measurements: reports of ``hsd-viz bench --json`` and the ablation of databases, the project's own or a reader's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from hsd_viz.views.drafting_data import study_of
from hsd_viz.views.scripts import joined
from hsd_viz.words import counted

_PACKAGE = Path(__file__).resolve().parents[1]
#: Where the project's own measurements lie: within an installed package, or beside it in a checkout.
FOLDERS = (_PACKAGE / "bench" / "measured", _PACKAGE.parent / "docs" / "bench")
#: What one message to the kernel may hold: the web server refuses 10 MiB.
MAX_BYTES = 8_000_000
ABLATION = "hsd_viz ablation"


@dataclass(frozen=True, slots=True)
class Saved:
    """A file with measurements; ``title`` says what was measured how."""

    title: str
    path: Path


def measured_file(name: str) -> Path | None:
    """A file of the project's own measurements, where it is installed with them."""
    return next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)


def saved_reports() -> list[Saved]:
    """The reports among the project's own measurements; files of other forms are passed over."""
    folder = next((f for f in FOLDERS if f.is_dir()), None)
    found = []
    for path in sorted(folder.glob("*.json"), key=lambda p: p.stem) if folder else ():
        try:
            found.append(Saved(title_of(report_of(path.read_bytes(), path.name)), path))
        except (OSError, ValueError):
            continue
    # What compares most comes first.
    return sorted(found, key=lambda s: not s.path.stem.startswith("heldout"))


def report_of(content: bytes, name: str) -> dict[str, Any]:
    """A bench report, or an ablation, from the bytes of a file. Raises ``ValueError`` with one sentence for what is neither."""
    # The page is open before anyone asks for a report.
    from hsd_viz.bench.report import read_report

    try:
        text = content.decode("utf-8")
        data = json.loads(text)
        if isinstance(data, dict) and data.get("format") == ABLATION:
            study_of(data)
            return data
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is no report of hsd-viz bench --json") from None
    return read_report(text, name)


def is_ablation(report: dict[str, Any]) -> bool:
    """Whether it is an ablation of databases, not a bench report."""
    return report.get("format") == ABLATION


def title_of(report: dict[str, Any]) -> str:
    """What was measured, how, on what."""
    if is_ablation(report):
        return f"Databases, orders and rivals, {len({row['stack'] for row in report['rows']})} stacks at several temperatures"
    settings, machine = report["settings"], report["machine"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    cuda = str(settings["device"]).startswith("cuda")
    where = machine["gpu"] if cuda else f"CPU, {counted(settings['threads'], 'thread')}"
    return f"{report['suite']['name']}, {how}, {where}, {len(report['stacks'])} stacks"


def fastest(report: dict[str, Any], most: int) -> list[str]:
    """The stacks of a bench report that draft, the fastest first, ``most`` of them at the most."""
    drafted = [s for s in report["stacks"] if s["mean_acceptance_length"] and s["mean_acceptance_length"] > 1]
    drafted.sort(key=lambda s: -(s["tokens_per_second"] or 0))
    return [s["stack"] for s in drafted[:most]]


class ReportTables(anywidget.AnyWidget):
    """The tables of a bench report, as the terminal shows them."""

    _esm = joined("dom.js", "tables.js")

    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, report: dict[str, Any]) -> None:
        from hsd_viz.bench.tables import introduction, tables

        parts = [{"title": t.title, "note": t.note, "rows": [[str(c) for c in row] for row in t.rows]} for t in tables(report)]
        super().__init__(spec={"intro": [str(line) for line in introduction(report)], "tables": parts})
