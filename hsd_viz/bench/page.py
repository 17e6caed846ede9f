"""A bench report as lines and tables for a terminal, and as a page; its sentences are templates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hsd_viz import tables as shared
from hsd_viz.bench.output import DRAFTING, FORWARD, REST
from hsd_viz.bench.report import KINDS, Figures, Report, StackResult, kind
from hsd_viz.prompts.templates import TEMPLATES
from hsd_viz.serialize import to_dict
from hsd_viz.tables import Table, Value, lines
from hsd_viz.words import counted

#: The columns of the first table, by importance: format and factor of their numbers.
COLUMNS = {
    "speed-up": ("{:.2f}", 1.0),
    "at little repetition": ("{:.2f}", 1.0),
    "tokens/s": ("{:.1f}", 1.0),
    "acceptance length": ("{:.2f}", 1.0),
    "accepted": ("{:.0%}", 1.0),
    "drafting µs/round": ("{:.0f}", 1e6),
    "repetition": ("{:.0%}", 1.0),
    "same as plain": ("{}", 1.0),
    "runtime": ("{}", 1.0),
}
HEAD = ("stack", *COLUMNS)
#: Column -> the figure that it shows.
LATENCY = {
    "first token ms": "first_token_seconds",
    "between tokens ms": "inter_token_seconds_median",
    "between tokens p99 ms": "inter_token_seconds_p99",
}
#: Columns that a note replaces where all stacks have the same value.
ONCE = ("repetition", "same as plain", "runtime")
#: Columns with bars.
SPEEDS = ("speed-up", "at little repetition")


def text_parts(report: Report) -> Iterator[str | Table]:
    """Yield the lines and tables of a report for :mod:`hsd_viz.terminal`."""
    yield from introduction(report)
    yield from (line[0].lower() + line[1:] for line in warnings(report))
    for table in tables(report):
        yield from ["", *([f"{table.note}:"] if table.note else []), *([table] if table.rows else [])]


def introduction(report: Report) -> list[str]:
    """Return suite, settings and machine, and what a reader has to know before any figure."""
    states, automatic = {s.state for s in report.stacks}, any(s.stack.startswith("auto") for s in report.stacks)
    template = TEMPLATES.get(report.settings.template or "")
    return lines("bench.jinja", report=report, states=states, automatic=automatic, template=template)


def answer(report: Report) -> list[tuple[str, bool]]:
    """Return the answer as parts (text, whether it is emphasized); [] if only plain decoding was measured. Stacks with
    an impossible speed-up are left out.
    """
    measured = [s for s in report.ranked if s.speedup_over_plain.value is not None and kind(s.stack) != "plain"]
    best, *others = [s for s in measured if s.plausible] or [None]
    within = []
    if best is not None and (ends := best.speedup_over_plain.interval):
        speeds = [(s.stack, s.speedup_over_plain.value or 0.0) for s in others if s is not None]
        within = [f"{name} ({value:.2f}×)" for name, value in speeds if value >= ends[0]]
        within += ["plain decoding"] if ends[0] <= 1 <= (best.speedup_over_plain.value or 0.0) else []
    text = "".join(lines("answer.jinja", best=best, within=_and(within)))
    return [(part, k % 2 == 1) for k, part in enumerate(text.split("**"))] if measured else []


def warnings(report: Report) -> list[str]:
    """Return reasons to doubt the timings: a busy machine, and speed-ups that are impossible."""
    figures = (
        (s.stack, s.speedup_over_plain.value, s.mean_acceptance_length.value) for s in report.ranked if not s.plausible
    )
    wrong = _and([f"{stack} ({speedup:.2f}× at {length:.2f})" for stack, speedup, length in figures])
    return lines("warnings.jinja", machine=report.machine, wrong=wrong)


def _and(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def tables(report: Report) -> Iterator[Table]:
    """Yield the tables: all outputs, those with little repetition, speed-ups by category, and other measurements."""
    suite, stacks = report.suite, report.ranked
    if not suite.prompts:
        return
    options: dict[str, Any] = {"kinds": tuple(kind(s.stack) for s in stacks)}
    figures: dict[str, Any] = {**options, "forms": COLUMNS, "bars": SPEEDS}
    yield Table("All outputs", [HEAD, *(_row(s, s) for s in stacks)], **figures).dense(ONCE)
    title, share = "Outputs with little repetition", f"{report.settings.low_repetition_below:.0%}"
    low = stacks[0].low_repetition
    if low is None:
        yield Table(title, [], f"every plain output repeats itself in {share} of its tokens or more")
    elif low.outputs < suite.prompts:
        rows = [HEAD, *(_row(s, s.low_repetition) for s in stacks if s.low_repetition is not None)]
        note = f"the {counted(low.outputs, 'output')} with less than {share} repetition"
        yield Table(title, rows, note, **figures).dense(ONCE)
    if len(suite.categories) > 1:
        by_category = [[s.stack, *(s.by_category[c].possible_speedup for c in suite.categories)] for s in stacks]
        options["forms"] = options["bars"] = dict.fromkeys(suite.categories, ("{:.2f}", 1.0))
        head = ["speed-up by category", *suite.categories]
        yield Table("Speed-up by category", [head, *by_category], **options)
    if profiled := [_profile(s) for s in stacks if s.profile]:
        head = ["stack", "round", "forward passes", DRAFTING, REST]
        note = "where the time goes: median µs (share of all)"
        yield Table("Where the time of a target round goes", [head, *profiled], note)
    paces = [[s.stack, *(getattr(s, name) for name in LATENCY.values())] for s in stacks]
    options = {"kinds": options["kinds"], "forms": dict.fromkeys(LATENCY, ("{:.2f}", 1e3))}
    latency = Table("Latency", [["stack", *LATENCY], *paces], **options).dense()
    if len(latency.rows[0]) > 1:
        yield latency


def _row(stack: StackResult, block: Figures) -> list[Value]:
    """Return the values of :data:`HEAD`, over all outputs of the stack or over some."""
    whole = block is stack
    same, low = (stack.token_identical_to_plain, stack.partly_repetitive) if whole else (None, None)
    return [
        stack.stack,
        block.possible_speedup,
        None if low is None else low.possible_speedup,
        block.tokens_per_second,
        block.mean_acceptance_length,
        block.acceptance_rate.value,
        block.draft_seconds_per_round.value,
        block.repetition_share.value or 0.0,
        None if same is None else f"{same[0]}/{same[1]}",
        stack.runtime,
    ]


def _profile(s: StackResult) -> list[Value]:
    assert s.profile is not None
    sums = {part: [0.0, 0.0] for part in (FORWARD, DRAFTING, REST)}
    for part, time in s.profile.parts.items():
        # Older reports have other parts.
        group = sums[FORWARD if part.startswith(FORWARD) else DRAFTING if part == DRAFTING else REST]
        group[0] += time.median_us
        group[1] += time.share
    cells = [shared.Cell(f"{us:.0f}", f"({share:.0%})") for us, share in sums.values()]
    return [s.stack, f"{s.profile.round_us:.0f}", *cells]


def page(report: Report) -> str:
    """Return the page of a report."""
    facts = {"Settings": to_dict(report.settings), "Machine": to_dict(report.machine)}
    shown = {name: {k: v for k, v in group.items() if v is not None and k != "gpus"} for name, group in facts.items()}
    first_line, *more = introduction(report)
    used = {kind(s.stack) for s in report.stacks}
    return shared.page(
        f"Speculative decoding, measured: {report.suite.name}",
        [f"Suite {first_line}", *more],
        tables(report),
        headline=answer(report),
        warnings=warnings(report),
        facts={n: {k.replace("_", " "): fact(v, k) for k, v in group.items()} for n, group in shown.items()},
        kinds={name: about for name, about in KINDS.items() if name in used},
        command=report.command or "",
        definitions=json.loads(Path(__file__).with_name("definitions.json").read_text(encoding="utf-8")),
    )


def fact(value: Any, name: str) -> str:
    """Return the value of a setting, or of a fact about the machine, as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
