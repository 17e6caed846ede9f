"""The result of a bench: the report as lines, tables and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.block import RoundProfile, StackFigures
from hsd_viz.measure.bench.hierarchy_gain import HierarchyGain
from hsd_viz.measure.bench.output import DRAFTING, FORWARD, REST
from hsd_viz.measure.bench.report import BenchReport, ReportSettings
from hsd_viz.measure.bench.sentences import (
    answer,
    introduction,
    loss,
    low_repetition,
    tally,
    warnings,
)
from hsd_viz.results.bar_chart import BarChart, bar_chart
from hsd_viz.results.kinds import kind_of
from hsd_viz.results.page import page
from hsd_viz.results.result import Result
from hsd_viz.results.table import RatioColumn, Table, Value
from hsd_viz.text import counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class StackColumn:
    """A column of a table of stacks.

    Attributes:
        value: the function that returns the cell of a stack.
        form: the format of numbers.
        factor: the factor of numbers, which converts them to the unit of the column.
    """

    value: Callable[[StackFigures], Value]
    form: str = "{}"
    factor: float = 1.0


#: Columns by their heads.
Columns = Mapping[str, StackColumn]


def _speedup(stack: StackFigures) -> Value:
    return stack.whole.speedup


def _at_little_repetition(stack: StackFigures) -> Value:
    """Return the speed-up over the prompts with little repetition."""
    low = low_repetition(stack)
    return None if low is None else low.speedup


def _drafting(stack: StackFigures) -> Value:
    return stack.whole.draft_seconds_per_round.value


def _repetition(stack: StackFigures) -> Value:
    return stack.whole.repetition_share.value or 0.0


def _same_as_plain(stack: StackFigures) -> Value:
    return "/".join(map(str, stack.token_identical_to_plain or ()))


#: Columns of the main table, in order of importance.
COLUMNS: Columns = {
    "speed-up": StackColumn(_speedup, "{:.2f}"),
    "at little repetition": StackColumn(_at_little_repetition, "{:.2f}"),
    "tokens/s": StackColumn(attrgetter("whole.tokens_per_second"), "{:.1f}"),
    "acceptance length": StackColumn(attrgetter("whole.mean_acceptance_length"), "{:.2f}"),
    "accepted": StackColumn(attrgetter("whole.acceptance_rate.value"), "{:.0%}"),
    "drafting µs/round": StackColumn(_drafting, "{:.0f}", 1e6),
    "repetition": StackColumn(_repetition, "{:.0%}"),
    "same as plain": StackColumn(_same_as_plain),
    "runtime": StackColumn(attrgetter("runtime")),
}
LATENCY: Columns = {
    "first token ms": StackColumn(attrgetter("whole.first_token_seconds"), "{:.2f}", 1e3),
    "between tokens ms": StackColumn(attrgetter("whole.inter_token_seconds_median"), "{:.2f}", 1e3),
    "between tokens p99 ms": StackColumn(
        attrgetter("whole.inter_token_seconds_p99"), "{:.2f}", 1e3
    ),
}
#: Columns that are replaced by a note if all stacks have the same value.
ONCE = ("repetition", "same as plain", "runtime")
#: Columns of speed-ups.
SPEEDS = ("speed-up", "at little repetition")


class BenchResult(Result):
    """The result of a bench.

    Args:
        report: the report with all figures.
        is_saved: whether the report was read from a file. A saved report that is partial does not
            mean that a command was interrupted.
    """

    def __init__(self, report: BenchReport, *, is_saved: bool = False) -> None:
        self.report = report
        self.complete = is_saved or report.complete

    @property
    def title(self) -> str:
        """The title of a page: the target model, and the machine if it is known."""
        machine = self.report.processor
        title = f"Speculative decoding, measured: {self.report.model}"
        return f"{title} on {machine}" if machine else title

    def lines(self) -> list[str]:
        """Return the suite, the settings, the machine, and reasons to doubt the timings."""
        doubts = [line[0].lower() + line[1:] for line in warnings(self.report)]
        return [*introduction(self.report), *doubts]

    def tables(self) -> list[Table]:
        """Return the tables: all outputs, those with little repetition, categories, and others."""
        return list(tables(self.report))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return self.report.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy data frame of all figures (:meth:`BenchReport.frame`)."""
        return self.report.frame()

    def to_html(self, *, links: Sequence[tuple[str, str]] = (), has_chart: bool = True) -> str:
        """Return the page of the report.

        Args:
            links: the addresses and names of other pages of a site.
            has_chart: whether the page has a chart; one that is shown beside a chart has none.
        """
        report = self.report
        first_line, *more = introduction(report)
        reason = loss(report)
        return page(
            self.title,
            [f"Suite {first_line}", *([reason] if reason else []), *more],
            self.tables(),
            headline=answer(report),
            warnings=warnings(report),
            facts={"Settings": _facts(report.settings), "Machine": _facts(report.machine)},
            command=report.command or "",
            definitions=json.loads(
                Path(__file__).with_name("definitions.json").read_text(encoding="utf-8")
            ),
            chart=_chart(report) if has_chart else None,
            links=links,
        )


def _chart(report: BenchReport) -> BarChart | None:
    """Return the chart of speed-ups; ``None`` without prompts."""
    table = next(tables(report), None)
    if table is None:
        return None
    title = tally(report) or "Speed-up over plain decoding"
    return bar_chart(table, RatioColumn(SPEEDS[0]), title)


def tables(report: BenchReport) -> Iterator[Table]:
    """Yield the tables: all outputs, outputs with little repetition, speed-ups by category, and
    other measurements.
    """
    suite = report.suite
    if not suite.prompts:
        return
    stacks = report.ranked
    yield _stacks_table("All outputs", "stack", stacks, COLUMNS, compared=SPEEDS).dense(ONCE)
    yield from _little_repetition_tables(report)
    if len(suite.categories) > 1:
        yield _categories_table(stacks, list(suite.categories))
    if report.hierarchy_gain is not None:
        yield _hierarchy_gain(report.hierarchy_gain)
    profiled = []
    for stack in stacks:
        if stack.profile is not None:
            profiled.append(_profile_row(stack.stack, stack.profile))
    if profiled:
        head = ["stack", "round", "forward passes", DRAFTING, REST]
        note = "where the time goes: median µs (share of all)"
        yield Table("Target round", [head, *profiled], note)
    latency = _stacks_table("Latency", "stack", stacks, LATENCY).dense()
    if len(latency.rows[0]) > 1:
        yield latency


def _stacks_table(
    title: str,
    first: str,
    stacks: Sequence[StackFigures],
    columns: Columns,
    note: str = "",
    compared: Sequence[str] = (),
) -> Table:
    """Return a table with a row per stack; ``first`` is the head of the column of names."""
    rows: list[list[Value]] = [[first, *columns]]
    for stack in stacks:
        rows.append([stack.stack, *(column.value(stack) for column in columns.values())])
    kinds = tuple(kind_of(stack.stack).value for stack in stacks)
    formats = {head: (column.form, column.factor) for head, column in columns.items()}
    return Table(title, rows, note, kinds=kinds, formats=formats, compared=compared)


def _little_repetition_tables(report: BenchReport) -> Iterator[Table]:
    """Yield the table of prompts with little repetition, unless these are all prompts."""
    title = "Outputs with little repetition"
    share = f"{report.settings.low_repetition_below:.0%}"
    stacks = []
    for stack in report.ranked:
        part = stack.at_little_repetition()
        if part is not None:
            stacks.append(part)
    if not stacks:
        note = f"every plain output repeats itself in {share} of its tokens or more"
        yield Table(title, [], note)
        return
    outputs = stacks[0].whole.outputs
    if outputs < report.suite.prompts:
        prompts = counted(outputs, "prompt")
        note = f"the {prompts} whose plain output has less than {share} repetition"
        yield _stacks_table(title, "stack", stacks, COLUMNS, note, SPEEDS).dense(ONCE)


def _categories_table(stacks: Sequence[StackFigures], categories: Sequence[str]) -> Table:
    """Return the speed-ups by category."""
    columns = {}
    counts = []
    for category in categories:
        columns[category] = StackColumn(_speedup_of(category), "{:.2f}")
        outputs = stacks[0].by_category[category].whole.outputs
        counts.append(f"{category} {outputs}")
    note = f"outputs of each stack: {', '.join(counts)}"
    title = "Speed-up by category"
    return _stacks_table(title, "speed-up by category", stacks, columns, note, categories)


def _speedup_of(category: str) -> Callable[[StackFigures], Value]:
    """Return a function from a stack to its speed-up in a category."""

    def value(stack: StackFigures) -> Value:
        return stack.by_category[category].whole.speedup

    return value


def _hierarchy_gain(gain: HierarchyGain) -> Table:
    """Return the table of the gain of the fastest hierarchy over the fastest single draft."""
    categories = gain.by_category if len(gain.by_category) > 1 else {}
    head = ["hierarchy", "over the single draft", "all", *categories]
    row: list[Value] = [gain.hierarchy, gain.single_draft, gain.speedup]
    for of_category in categories.values():
        row.append(of_category.speedup)
    formats = dict.fromkeys(head[2:], ("{:.2f}", 1.0))
    kinds = (kind_of(gain.hierarchy).value,)
    note = "the fastest of each kind over all prompts; above 1: several levels of drafts pay"
    return Table("Fastest hierarchy over fastest single draft", [head, row], note, kinds, formats)


def _group_of(part: str) -> str:
    """Return the group of a part of a round: forward passes, drafting, or the rest."""
    if part.startswith(FORWARD):
        return FORWARD
    return DRAFTING if part == DRAFTING else REST


def _profile_row(stack: str, profile: RoundProfile) -> list[Value]:
    """Return the times of a round of a stack, by groups of its parts."""
    microseconds = dict.fromkeys((FORWARD, DRAFTING, REST), 0.0)
    shares = dict.fromkeys((FORWARD, DRAFTING, REST), 0.0)
    for part, time in profile.parts.items():
        # Older reports have other names of parts.
        group = _group_of(part)
        microseconds[group] += time.median_us
        shares[group] += time.share
    cells = [f"{microseconds[group]:.0f} ({shares[group]:.0%})" for group in shares]
    return [stack, f"{profile.round_us:.0f}", *cells]


def _facts(values: ReportSettings | MachineFacts) -> dict[str, str]:
    """Return the known fields as text, by name."""
    facts = {}
    for name, value in asdict(values).items():
        if value not in (None, ()):
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            facts[name.replace("_", " ")] = text
    return facts
