"""Saved reports of ``hsd-viz bench --json``, and their tables for the browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hsd_viz.stack import Stack, parse_bench
from hsd_viz.words import counted

if TYPE_CHECKING:
    from hsd_viz.bench.report import Report
    from hsd_viz.tables import Table

_PACKAGE = Path(__file__).resolve().parents[1]
#: Folders of the project's measurements: in an installed package, or in a checkout.
FOLDERS = (_PACKAGE / "bench" / "measured", _PACKAGE.parent / "docs" / "bench")
_PURPOSE = re.compile(r"^- `([^`]+\.json)`: (.+)$", re.M)


class Saved(NamedTuple):
    """A file with a report, its title and its purpose ("" if unknown)."""

    title: str
    path: Path
    purpose: str


def saved_reports() -> list[Saved]:
    """Return the project's reports in the order of their ``README.md``; other files are skipped."""
    folder = next((f for f in FOLDERS if f.is_dir()), None)
    if folder is None:
        return []
    readme = folder / "README.md"
    purposes = dict(_PURPOSE.findall(readme.read_text(encoding="utf-8"))) if readme.is_file() else {}
    found = []
    for path in sorted(folder.glob("*.json"), key=lambda p: p.stem):
        words = purposes.get(path.name, "").replace("`", "")
        try:
            found.append(Saved(title_of(report_of(path.read_bytes(), path.name)), path, words[:1].upper() + words[1:]))
        except (OSError, ValueError):
            continue
    places = {name: place for place, name in enumerate(purposes)}
    return sorted(found, key=lambda s: places.get(s.path.name, len(places)))


def report_of(content: bytes, name: str) -> Report:
    """Read a bench report from the bytes of a file. Raises: ValueError: if it holds none."""
    # Imported late: the page opens without it.
    from hsd_viz.bench.report import read_report

    try:
        return read_report(content.decode("utf-8"), name)
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not a report of hsd-viz bench --json") from None


def stacks_of(report: Report) -> list[Stack]:
    """Return the stacks of a report, without transformers' own loops and without what follows a name in brackets."""
    parsed = [parse_bench(s.stack.partition(" (")[0]) for s in report.stacks]
    return [stack for stack in parsed if isinstance(stack, Stack)]


def title_of(report: Report) -> str:
    """Return what was measured, how, on what."""
    settings, suite = report.settings, report.suite
    how = "greedy" if settings.temperature == 0 else f"temperature {settings.temperature:g}"
    cuda = settings.device.startswith("cuda")
    where = report.processor if cuda else f"CPU, {counted(settings.threads, 'thread')}"
    target = f", target {settings.target}" if settings.target not in (None, "target") else ""
    stacks = counted(len(report.stacks), "stack")
    return f"{suite.name}{target}, {how}, {where}: {stacks} on {counted(suite.prompts, 'prompt')}"


def report_spec(report: Report) -> dict[str, Any]:
    """Return a bench report for the browser: its summary with warnings, and the tables of the terminal output."""
    from hsd_viz.bench.page import answer, introduction, tables, warnings
    from hsd_viz.bench.report import KINDS

    first, *others = introduction(report)
    return {
        "answer": [list(part) for part in answer(report)],
        "warnings": [f"{line}." for line in warnings(report)],
        "intro": [f"Suite {first}.", *(f"{line[0].upper()}{line[1:]}." for line in others)],
        "colours": {name: list(pair) for name, (_, *pair) in KINDS.items()},
        "tables": [table_spec(table) for table in tables(report)],
    }


def table_spec(table: Table) -> dict[str, Any]:
    """Return a table for the browser: cells are (value, note below), rows of stacks have their kind and mark."""
    from hsd_viz.bench.page import HEAD, OTHERS
    from hsd_viz.bench.report import KINDS

    cells = table.cells()
    return {
        "title": table.title,
        "note": table.note,
        "said": "",
        "head": list(map(str, cells[0])) if cells else [],
        "rows": [[[cell.figure, cell.below] for cell in row] for row in cells[1:]],
        "kinds": list(table.kinds),
        "marks": [KINDS[kind][0] if kind in OTHERS else "" for kind in table.kinds],
        # Columns are ordered by importance; a narrow page hides the last ones.
        "folds": bool(cells) and tuple(cells[0][:2]) == HEAD[:2],
    }
