"""File forms of runs, reports and comparisons, created in memory on request."""

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

#: Maximum characters of a stack in a file name.
MOST_NAME = 48


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file: name, media type and bytes."""

    name: str
    type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """A file form: label, description, extension, media type, and function that creates the bytes."""

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
            # A fixed date keeps the bytes of a run reproducible.
            archive.writestr(zipfile.ZipInfo(name), text.encode("utf-8", "replace"), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _timeline(trace: Trace) -> bytes:
    from hsd_viz.trace.export import chrome_trace

    return (json.dumps(chrome_trace(trace), separators=(",", ":")) + "\n").encode("ascii")


FORMS: dict[str, Form] = {
    "trace": Form("Trace", "whole run; opens here and in Python", ".json.gz", "application/gzip", Trace.to_bytes),
    "page": Form("Page", "interactive; opens in any browser, offline", ".html", "text/html", _page),
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


#: Forms of a bench report.
REPORT_FORMS: dict[str, Form] = {
    "report": Form(
        "Report", "all values; opens here and with hsd-viz bench --from", ".json", "application/json", _report
    ),
    "page": Form("Page", "opens in any browser, offline", ".html", "text/html", _report_page),
}


def saved_report(report: Report, form: str) -> SavedFile:
    """Return a bench report as a file in one of :data:`REPORT_FORMS`. Raises: ValueError: for another form."""
    if form not in REPORT_FORMS:
        raise ValueError(f"unknown form '{form}' of a report: use {', '.join(REPORT_FORMS)}")
    kind = REPORT_FORMS[form]
    suite = _dashed(report.suite.name)[:MOST_NAME].strip("-")
    return SavedFile(f"hsd_viz_bench_{suite}{kind.ending}", kind.type, kind.make(report))


def _versus_page(data: dict[str, Any]) -> bytes:
    from hsd_viz.views.standalone_versus import page_of

    return page_of(data).encode("utf-8")


#: The form of a comparison, made from its view's data.
VERSUS_FORMS: dict[str, Form] = {
    "page": Form("Page", "race, texts and metrics; opens in any browser, offline", ".html", "text/html", _versus_page),
}


def saved_versus(data: dict[str, Any], form: str) -> SavedFile:
    """Return a comparison (``data`` of its view) as a file in one of :data:`VERSUS_FORMS`.

    Raises: ValueError: for another form, or without runs.
    """
    if form not in VERSUS_FORMS:
        raise ValueError(f"unknown form '{form}' of a comparison: use {', '.join(VERSUS_FORMS)}")
    if not data:
        raise ValueError("no runs to save: select two or three")
    kind = VERSUS_FORMS[form]
    stacks = "_".join(_dashed(run["stack"])[: MOST_NAME // 2].strip("-") for run in data["runs"])
    return SavedFile(f"hsd_viz_compare_{stacks}{kind.ending}", kind.type, kind.make(data))


def saved(trace: Trace, form: str) -> SavedFile:
    """Return a run as a file in one of :data:`FORMS`. Raises: ValueError: for another form."""
    if form not in FORMS:
        raise ValueError(f"unknown form '{form}' of a run: use {', '.join(FORMS)}")
    kind = FORMS[form]
    return SavedFile(f"{_stem(trace)}{kind.ending}", kind.type, kind.make(trace))


def _stem(trace: Trace) -> str:
    """Return the base name of a run's files: its stack and, if known, time of recording."""
    stack = _dashed(trace.stack or "run").strip("-")
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    return "_".join(part for part in ("hsd_viz", stack[:MOST_NAME].strip("-"), at) if part)


def _dashed(text: str) -> str:
    """Convert a text to a part of a file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)
