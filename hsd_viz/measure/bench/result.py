"""The result of a bench: a report as lines and tables, and as a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hsd_viz.decoding.engine import Engine
from hsd_viz.errors import UserError
from hsd_viz.machine import MachineFacts, cpu_model, describe, threads
from hsd_viz.measure.bench.decodes import KeptDecodes
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.hierarchy_gain import HierarchyGain
from hsd_viz.measure.bench.output import DRAFTING, FORWARD, REST
from hsd_viz.measure.bench.report import Block, Report, ReportSettings, figure, speedup
from hsd_viz.measure.bench.runner import BenchSettings, read_stacks, run_bench
from hsd_viz.measure.bench.words import answer, introduction, low_repetition, warnings
from hsd_viz.prompts.suites import Suite
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import Kind, kind_of
from hsd_viz.results.page import page as whole_page
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, Value
from hsd_viz.stack import Stack
from hsd_viz.terminal import Progress, ignore_progress
from hsd_viz.version import __version__
from hsd_viz.words import counted

if TYPE_CHECKING:
    import pandas as pd

#: Head -> what a block shows in this column, and the format and factor of its numbers.
Columns = Mapping[str, tuple[Callable[[Block], Value], str, float]]


def _at_little_repetition(block: Block) -> Value:
    """Return the speed-up over the prompts with little repetition."""
    low = low_repetition(block)
    return None if low is None else speedup(low)


def _repetition(block: Block) -> Value:
    return block["repetition_share"] or 0.0


#: By importance.
COLUMNS: Columns = {
    "speed-up": (speedup, "{:.2f}", 1.0),
    "at little repetition": (_at_little_repetition, "{:.2f}", 1.0),
    "tokens/s": (partial(figure, name="tokens_per_second"), "{:.1f}", 1.0),
    "acceptance length": (partial(figure, name="mean_acceptance_length"), "{:.2f}", 1.0),
    "accepted": (itemgetter("acceptance_rate"), "{:.0%}", 1.0),
    "drafting µs/round": (itemgetter("draft_seconds_per_round"), "{:.0f}", 1e6),
    "repetition": (_repetition, "{:.0%}", 1.0),
    "same as plain": (
        lambda block: "/".join(map(str, block.get("token_identical_to_plain") or ())),
        "{}",
        1.0,
    ),
    "runtime": (lambda block: block.get("runtime"), "{}", 1.0),
}
LATENCY: Columns = {
    "first token ms": (partial(figure, name="first_token_seconds"), "{:.2f}", 1e3),
    "between tokens ms": (partial(figure, name="inter_token_seconds_median"), "{:.2f}", 1e3),
    "between tokens p99 ms": (partial(figure, name="inter_token_seconds_p99"), "{:.2f}", 1e3),
}
#: Columns that a note replaces where all stacks have the same value.
ONCE = ("repetition", "same as plain", "runtime")
#: Columns with bars.
SPEEDS = ("speed-up", "at little repetition")


class BenchResult(Result):
    """What a bench measured.

    Attributes:
        report: the figures.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.complete = report.complete

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Speculative decoding, measured: {self.report.suite.name}"

    def lines(self) -> list[str]:
        """Return suite, settings and machine, and reasons to doubt the timings."""
        doubts = [line[0].lower() + line[1:] for line in warnings(self.report)]
        return [*introduction(self.report), *doubts]

    def tables(self) -> list[Table]:
        """Return all outputs, those with little repetition, categories, and other measurements."""
        return list(tables(self.report))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return self.report.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy frame of all figures: see :meth:`Report.frame`."""
        return self.report.frame()

    def to_html(self) -> str:
        """Return the page of the report."""
        return page(self.report)


def measure_stacks(
    engine: Engine,
    stacks: Sequence[str | Stack],
    suite: Suite,
    settings: BenchSettings,
    *,
    template: str = "auto",
    resume: Path | None = None,
    progress: Progress = ignore_progress,
    command: str | None = None,
) -> BenchResult:
    """Measure stacks side by side on a suite of prompts; the arguments are those of a bench."""
    if resume is None:
        keeping: AbstractContextManager[KeptDecodes | None] = nullcontext()
    else:
        common = {"template": template, "cpu": cpu_model(), "hsd_viz": __version__}
        keeping = _kept_decodes(resume, stacks, suite, settings, _models_of(engine) | common)
    with keeping as kept:
        measurement = run_bench(
            engine, stacks, suite, settings, template=template, kept=kept, progress=progress
        )
    # Only now are the packages loaded that know of a GPU.
    return BenchResult(build_report(measurement, describe(), _models_of(engine), command))


def _models_of(engine: Engine) -> dict[str, Any]:
    """Return what a report says of the models and how they run."""
    return {
        "target": engine.target,
        "databases": engine.databases,
        "device": engine.device,
        "dtype": engine.dtype,
        "threads": threads(),
    }


def _kept_decodes(
    path: Path,
    stacks: Sequence[str | Stack],
    suite: Suite,
    settings: BenchSettings,
    facts: Mapping[str, Any],
) -> KeptDecodes:
    """Return the decodes in a file, all of one suite, settings, models, machine and version."""
    if settings.state != "cold":
        raise UserError(
            f"a bench with the state '{settings.state}' cannot resume: "
            "what drafters remember is not kept; use the state cold"
        )
    prompts = sha256(msgspec.json.encode(suite.prompts)).hexdigest()
    common = {
        "suite": suite.name,
        "prompts": prompts,
        "stacks": list(read_stacks(stacks)),
        **facts,
        **asdict(settings),
    }
    return KeptDecodes(path, common)


def tables(report: Report) -> Iterator[Table]:
    """Yield the tables: all outputs, those with little repetition, speed-ups by category, and other
    measurements.
    """
    suite = report.suite
    stacks = report.ranked
    kinds = tuple(kind_of(s["stack"]).value for s in stacks)

    def table(
        title: str, first: str, columns: Columns, note: str = "", part: str = "", bars: Any = ()
    ) -> Table:
        forms = {head: (form, factor) for head, (_, form, factor) in columns.items()}
        rows: list[list[Value]] = [[first, *columns]]
        for stack in stacks:
            block = stack[part] if part else stack
            rows.append([stack["stack"], *(value(block) for value, _, _ in columns.values())])
        return Table(title, rows, note, kinds=kinds, forms=forms, bars=bars)

    if not suite.prompts:
        return
    yield table("All outputs", "stack", COLUMNS, bars=SPEEDS).dense(ONCE)
    title = "Outputs with little repetition"
    share = f"{report.settings.low_repetition_below:.0%}"
    low = stacks[0]["low_repetition"]
    if low is None:
        yield Table(
            title, [], f"every plain output repeats itself in {share} of its tokens or more"
        )
    elif low["outputs"] < suite.prompts:
        prompts = counted(low["outputs"], "prompt")
        note = f"the {prompts} whose plain output has less than {share} repetition"
        yield table(title, "stack", COLUMNS, note, part="low_repetition", bars=SPEEDS).dense(ONCE)
    if len(suite.categories) > 1:
        columns = {name: (_speedup_of(name), "{:.2f}", 1.0) for name in suite.categories}
        plain = stacks[0]["by_category"]
        counts = ", ".join(f"{name} {plain[name]['outputs']}" for name in suite.categories)
        note = f"outputs of each stack: {counts}"
        yield table("Speed-up by category", "speed-up by category", columns, note, bars=columns)
    if report.hierarchy_gain is not None:
        yield _hierarchy_gain(report.hierarchy_gain)
    if profiled := [_profile(s) for s in stacks if s.get("profile")]:
        head = ["stack", "round", "forward passes", DRAFTING, REST]
        note = "where the time goes: median µs (share of all)"
        yield Table("Target round", [head, *profiled], note)
    latency = table("Latency", "stack", LATENCY).dense()
    if len(latency.rows[0]) > 1:
        yield latency


def _speedup_of(category: str) -> Callable[[Block], Estimate]:
    """Return what takes the speed-up of a category from the data of a stack."""
    return lambda stack: speedup(stack["by_category"][category])


def _hierarchy_gain(gain: HierarchyGain) -> Table:
    """Return the speed of the fastest hierarchy over that of the fastest single draft."""
    categories = gain.by_category if len(gain.by_category) > 1 else {}
    head = ["hierarchy", "over the single draft", "all", *categories]
    row: list[Value] = [gain.hierarchy, gain.single_draft, gain.estimate]
    for block in categories.values():
        row.append(block.estimate)
    forms = dict.fromkeys(head[2:], ("{:.2f}", 1.0))
    kinds = (kind_of(gain.hierarchy).value,)
    note = "the fastest of each kind over all prompts; above 1: several levels of drafts pay"
    return Table("Fastest hierarchy over fastest single draft", [head, row], note, kinds, forms)


def _group_of(part: str) -> str:
    """Return the group of a part of a round: forward passes, drafting, or the rest."""
    if part.startswith(FORWARD):
        return FORWARD
    return DRAFTING if part == DRAFTING else REST


def _profile(stack: Block) -> list[Value]:
    sums = {part: [0.0, 0.0] for part in (FORWARD, DRAFTING, REST)}
    for part, time in stack["profile"]["parts"].items():
        # Older reports have other parts.
        group = sums[_group_of(part)]
        group[0] += time["median_us"]
        group[1] += time["share"]
    cells = [f"{us:.0f} ({share:.0%})" for us, share in sums.values()]
    return [stack["stack"], f"{stack['profile']['round_us']:.0f}", *cells]


def _facts(values: ReportSettings | MachineFacts) -> dict[str, str]:
    """Return the fields that are known, as text by name."""
    facts = {}
    for name, value in asdict(values).items():
        if value not in (None, ()):
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            facts[name.replace("_", " ")] = text
    return facts


def page(report: Report) -> str:
    """Return the page of a report."""
    first_line, *more = introduction(report)
    used = {kind_of(s["stack"]) for s in report.stacks}
    return whole_page(
        f"Speculative decoding, measured: {report.suite.name}",
        [f"Suite {first_line}", *more],
        tables(report),
        headline=answer(report),
        warnings=warnings(report),
        facts={"Settings": _facts(report.settings), "Machine": _facts(report.machine)},
        kinds=[kind for kind in Kind if kind in used],
        command=report.command or "",
        definitions=json.loads(
            Path(__file__).with_name("definitions.json").read_text(encoding="utf-8")
        ),
    )
