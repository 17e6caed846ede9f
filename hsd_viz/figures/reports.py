"""Figures of bench reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hsd_viz.disk import MAX_JSON, read_text
from hsd_viz.errors import UserError
from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import Figure, between
from hsd_viz.figures.palette import bar_of
from hsd_viz.latency.basis import temperature_text
from hsd_viz.measure.bench.report import BenchReport, read_report
from hsd_viz.measure.bench.sentences import loss, tally, warnings
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.estimate import MIN_UNITS
from hsd_viz.stack import DATABASES, TARGET, Stack, StackError, parse_bench
from hsd_viz.text import counted

PER_PASS = "tokens per target forward pass"
SPEED = "speed, plain decoding = 1"


def report_of(report: BenchReport | Mapping[str, Any] | str | Path) -> BenchReport:
    """Return a bench report, read from its data or its file.

    Raises:
        UserError: if it is not one.
    """
    if isinstance(report, BenchReport):
        return report
    if isinstance(report, str | Path):
        return read_report(read_text(Path(report).expanduser(), "report", MAX_JSON), str(report))
    return read_report(json.dumps(report), "the data")


def speedup(report: BenchReport | Mapping[str, Any] | str | Path, dark: bool = False) -> Figure:
    """Plot the speed-up over plain decoding by stack, from a bench report, its data or its file.

    Values of five or more prompts have 95 % intervals; impossible ones are left out.

    Raises:
        UserError: if it is not a report.
    """
    report = report_of(report)
    frame = report.frame().query(
        "metric == 'speedup_over_plain' and possible and category == '' and looping"
    )
    frame = frame.dropna(subset=["value"]).sort_values("value", ascending=False, ignore_index=True)
    rows = frame[["stack"]].copy()
    rows[""] = frame["value"].map("{:.2f} ×".format)
    if frame["low"].notna().any():
        rows["95 % interval"] = [between(row.low, row.high, "{:.2f}") for row in frame.itertuples()]
    words = frame["stack"].map(stack_name)
    rows = rows.assign(words=words, dot=frame["value"], low=frame["low"], high=frame["high"])
    kinds = frame["stack"].map(bar_of)
    parts = pd.DataFrame({"row": frame.index, "part": kinds, "value": frame["value"]})
    too_few = f"No interval is shown for fewer than {MIN_UNITS} prompts. The"
    opening = "Bars with their 95 % intervals; the" if frame["low"].notna().any() else too_few
    doubts = " ".join(f"{line}." for line in warnings(report))
    where = f"Measured on {report.suite.name}, {report.processor or 'an unknown machine'}."
    key = f"{opening} dashed line is plain decoding."
    text = " ".join(filter(None, [where, loss(report), key]))
    return bars(
        rows,
        parts,
        tally(report) or "Speed-up over plain decoding",
        SPEED,
        reference=1.0,
        legend=False,
        text=text,
        note=doubts,
        dark=dark,
    )


def by_category(
    report: BenchReport | Mapping[str, Any] | str | Path,
    dark: bool = False,
    *,
    stacks: Sequence[str] | None = None,
) -> Figure:
    """Plot mean acceptance length by kind of text, from a bench report: of ``stacks``, by default
    of the six fastest for each kind of text.

    Raises:
        UserError: if the report has no categories, or not these stacks.
    """
    report = report_of(report)
    frame = report.frame().query("looping and category != ''")
    frame = frame.pivot(
        index=["category", "stack", "outputs"], columns="metric", values=["value", "low", "high"]
    )
    frame = (
        frame["value"]
        .join(frame[["low", "high"]].xs("mean_acceptance_length", axis=1, level=1))
        .reset_index()
    )
    frame = frame[frame["mean_acceptance_length"] > 1].assign(
        method=lambda rows: rows["stack"].map(method)
    )
    for stack in stacks or ():
        if stack not in {*frame["stack"], *frame["method"]}:
            raise UserError(
                f"'{stack}' was not measured: use one of {', '.join(frame['method'].unique())}"
            )
    if frame.empty:
        raise UserError("no results by category: use a report of several kinds of text")
    frame["category"] = pd.Categorical(frame["category"], list(report.suite.categories))
    frame = frame.sort_values(["category", "speedup_over_plain"], ascending=[True, False])
    if stacks is None:
        frame = frame.groupby("category", sort=False, observed=True).head(6)
    else:
        frame = frame[frame["stack"].isin(stacks) | frame["method"].isin(stacks)]
    frame = frame.reset_index(drop=True)
    rows = pd.DataFrame(
        {
            "stack": frame["method"],
            "group": [f"{row.category} (n = {row.outputs})" for row in frame.itertuples()],
            "tokens per forward pass": frame["mean_acceptance_length"].map("{:.2f}".format),
            "95 % interval": [between(row.low, row.high, "{:.1f}") for row in frame.itertuples()],
            "speed-up": frame["speedup_over_plain"].map(
                lambda v: "–" if pd.isna(v) else f"{v:.2f} ×"
            ),
        }
    )
    value = frame["mean_acceptance_length"]
    kinds = frame["stack"].map(bar_of)
    parts = pd.DataFrame({"row": frame.index, "part": kinds, "value": value})
    text = (
        "Bar length: tokens per target forward pass. Groups show the effect of the text, rows that "
        "of the method."
    )
    title = f"Results by kind of text, {temperature_text(report.settings.temperature)}"
    note = f"Measured: {measured(report.to_dict())}."
    return bars(rows, parts, title, PER_PASS, reference=1.0, text=text, note=note, dark=dark)


def measured(data: Mapping[str, Any]) -> str:
    """Return what was measured, on which machine, of a report or an ablation as data."""
    machine = data["machine"]
    suite = data["suite"]
    settings = data["settings"]
    on_gpu = str(settings.get("device")).startswith("cuda")
    place = (
        machine["gpu"] if on_gpu else f"{machine['cpu']}, {counted(settings['threads'], 'thread')}"
    )
    loads = [machine.get(name) for name in ("load_average", "load_average_at_end")]
    busy = " to ".join(f"{load:.1f}" for load in loads if load is not None)
    prompts = counted(suite["prompts"], "prompt")
    length = counted(settings["max_new_tokens"], "new token")
    load = f", load average {busy}" if busy else ""
    return f"{prompts} of the suite {suite['name']}, {length} each, {place}{load}"


def method(stack: str) -> str:
    """Return the short name of a stack: no brackets for all databases in the usual order, no ``>
    target``.
    """
    try:
        parsed = parse_bench(stack)
    except StackError:
        parsed = None
    if not isinstance(parsed, Stack) or parsed.bottom is None or parsed.drafts:
        return stack.removesuffix(f" > {TARGET}")
    return parsed.bottom.name if parsed.bottom.items == DATABASES else str(parsed.bottom)
