"""The run on the page as files to keep: the trace itself, a page, tables, a timeline. Made in memory, when somebody asks."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hsd_viz.trace import Trace

if TYPE_CHECKING:
    from hsd_viz.bench.report import Report

#: Characters of a stack in a file's name.
MOST_NAME = 48


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file to be kept: its name, its media type, its bytes."""

    name: str
    type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which a run can be kept: what it is called, what it is good for, its ending, its media type, and how it is made."""

    label: str
    words: str
    ending: str
    type: str
    make: Callable[[Any], bytes]


def _page(trace: Trace) -> bytes:
    from hsd_viz.views.standalone import page

    return page(trace).encode("utf-8")


def _tables(trace: Trace) -> bytes:
    from hsd_viz.trace.export import csv_tables

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in csv_tables(trace).items():
            # A date of its own would make other bytes of the same run.
            archive.writestr(zipfile.ZipInfo(name), text.encode("utf-8", "replace"), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _timeline(trace: Trace) -> bytes:
    from hsd_viz.trace.perfetto import chrome_trace

    return (json.dumps(chrome_trace(trace), separators=(",", ":")) + "\n").encode("ascii")


FORMS: dict[str, Form] = {
    "trace": Form("Trace", "all of the run; opens here, and in Python", ".json.gz", "application/gzip", Trace.to_bytes),
    "page": Form("Page", "to look into and pass on; opens in any browser, offline", ".html", "text/html", _page),
    "tables": Form("Tables", "tokens, drafts, rounds and calls as CSV", ".csv.zip", "application/zip", _tables),
    "timeline": Form(
        "Timeline", "for ui.perfetto.dev or chrome://tracing", ".perfetto.json", "application/json", _timeline
    ),
}


def _report_page(report: Report) -> bytes:
    from hsd_viz.bench.page import page

    return page(report).encode("utf-8")


def _report(report: Report) -> bytes:
    return (json.dumps(report.to_dict(), indent=1) + "\n").encode("ascii")


#: The forms of a bench report.
REPORT_FORMS: dict[str, Form] = {
    "report": Form(
        "Report", "every figure; opens here, and with hsd-viz bench --from", ".json", "application/json", _report
    ),
    "page": Form("Page", "to read and pass on; opens in any browser, offline", ".html", "text/html", _report_page),
}


def saved_report(report: Report, form: str) -> SavedFile:
    """The file of a bench report in one of :data:`REPORT_FORMS`. Raises ``ValueError`` with one sentence for another form."""
    if form not in REPORT_FORMS:
        raise ValueError(f"a report is saved as {', '.join(REPORT_FORMS)}, not as '{form}'")
    kind = REPORT_FORMS[form]
    suite = _dashed(report.suite.name)[:MOST_NAME].strip("-")
    return SavedFile(f"hsd_viz_bench_{suite}{kind.ending}", kind.type, kind.make(report))


def _versus_page(data: dict[str, Any]) -> bytes:
    from hsd_viz.views.standalone_versus import page_of

    return page_of(data).encode("utf-8")


#: The one form of runs that are shown side by side, by the data of their view.
VERSUS_FORMS: dict[str, Form] = {
    "page": Form(
        "Page", "race, texts and figures, to pass on; opens in any browser, offline", ".html", "text/html", _versus_page
    ),
}


def saved_versus(data: dict[str, Any], form: str) -> SavedFile:
    """The file of runs side by side, ``data`` being that of their view, in one of :data:`VERSUS_FORMS`.

    Raises ``ValueError`` with one sentence for another form, or where no runs are shown.
    """
    if form not in VERSUS_FORMS:
        raise ValueError(f"runs side by side are saved as {', '.join(VERSUS_FORMS)}, not as '{form}'")
    if not data:
        raise ValueError("no runs are shown side by side: choose two or three first")
    kind = VERSUS_FORMS[form]
    stacks = "_".join(_dashed(run["stack"])[: MOST_NAME // 2].strip("-") for run in data["runs"])
    return SavedFile(f"hsd_viz_compare_{stacks}{kind.ending}", kind.type, kind.make(data))


def saved(trace: Trace, form: str) -> SavedFile:
    """The file of a run in one of :data:`FORMS`. Raises ``ValueError`` with one sentence for another form."""
    if form not in FORMS:
        raise ValueError(f"a run is saved as {', '.join(FORMS)}, not as '{form}'")
    kind = FORMS[form]
    return SavedFile(f"{_stem(trace)}{kind.ending}", kind.type, kind.make(trace))


def _stem(trace: Trace) -> str:
    """What tells this run's files from another's: its stack, and when it was recorded, where that is known."""
    stack = _dashed(str(trace.meta.get("stack_resolved") or trace.meta.get("stack") or "run")).strip("-")
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    return "_".join(part for part in ("hsd_viz", stack[:MOST_NAME].strip("-"), at) if part)


def _dashed(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)
