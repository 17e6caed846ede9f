"""The files of measurements in ``docs/bench``, and tables with the source of their figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hsd_viz.stack import PLAIN
from tools.docs.basis import is_former
from training.evaluation import markdown

BENCH = Path(__file__).resolve().parents[3] / "docs" / "bench"
#: Temperatures, the everyday one first: heading and part of the file names.
TEMPERATURES = (("T = 0.7", "t07"), ("T = 1", "t1"), ("greedy", "greedy"))


def read(name: str) -> dict:
    """Return the measurements ``docs/bench/NAME.json``."""
    return json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8"))


def source(*names: str) -> str:
    """Return where figures come from: files, which state their commands, load averages where
    recorded, and whether models, databases or costs have changed since.
    """
    lines = []
    for name in names:
        report = read(name)
        load = report.get("machine", {}).get("load_average")
        remarks = [] if load is None else [f"load average {load:.1f}"]
        if is_former(name, report):
            remarks.append("with former costs")
        about = f" ({', '.join(remarks)})" if remarks else ""
        lines.append(f"[{name}.json](bench/{name}.json){about}")
    return f"Source: {', '.join(lines)}."


def reports(suite: str) -> dict[str, tuple[str, dict]]:
    """Return the reports of a suite, of the temperatures that were measured.

    The heading of each leads to its name and data.
    """
    measured = {}
    for title, part in TEMPERATURES:
        name = f"{suite}-{part}-cpu"
        path = BENCH / f"{name}.json"
        if path.exists():
            measured[title] = (name, read(name))
    return measured


def report_names(suite: str) -> list[str]:
    """Return the names of the reports of a suite."""
    return [name for name, _ in reports(suite).values()]


def table(head: Sequence[str], body: Iterable[Sequence[str]], *names: str) -> str:
    """Return a table with the source of its figures below it."""
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def texts(form: str, values: Mapping, keys: Iterable) -> list[str]:
    """Return the values of some keys in one format."""
    return [form.format(values[key]) for key in keys]


def headings(form: str, values: Iterable) -> list[str]:
    """Return a heading per value."""
    return [form.format(value) for value in values]


def figure(row: dict | None, key: str, form: str = "{:.2f}", scale: float = 1.0) -> str:
    """Return a figure of a stack with its interval, or – where there is none."""
    figures = row or {}
    value = figures.get(key)
    ends = figures.get(f"{key}_ci")
    if value is None:
        return "–"
    text = form.format(value * scale)
    if ends is None or None in ends:
        return text
    low, high = ends
    first = form.format(low * scale)
    last = form.format(high * scale)
    return f"{text} [{first}, {last}]"


def by_stack(report: dict) -> dict[str, dict]:
    """Return the rows of a report by stack."""
    return {row["stack"]: row for row in report["stacks"]}


def drafting(report: dict) -> list[dict]:
    """Return the rows of a report but that of plain decoding, the fastest first."""
    rows = []
    for row in report["stacks"]:
        if row["stack"] != PLAIN:
            rows.append(row)
    return sorted(rows, key=lambda row: -row["speedup_over_plain"])
