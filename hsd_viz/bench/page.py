"""A bench report as lines and tables for a terminal, and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hsd_viz import tables as shared
from hsd_viz.bench.output import DRAFTING, FORWARD, REST
from hsd_viz.bench.report import Figures, Report, StackResult, kind
from hsd_viz.bench.verdict import KINDS, answer, low_repetition, plausible, ranked, speed_words, warnings
from hsd_viz.intervals import UNKNOWN
from hsd_viz.prompts.templates import TEMPLATES
from hsd_viz.serialize import to_dict
from hsd_viz.tables import Bar, Bars, Table, Value
from hsd_viz.terminal import plain
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
LATENCY = dict.fromkeys(("first token ms", "between tokens ms", "between tokens p99 ms"), ("{:.2f}", 1e3))
#: Columns that a note replaces where all stacks have the same value.
ONCE = ("repetition", "same as plain", "runtime")
SPEED_TITLE, BY_CATEGORY = "Speed-up over plain decoding", "Speed-up by category"


def text_table(report: Report) -> str:
    """Return the report as plain text."""
    return plain(text_parts(report))


def text_parts(report: Report) -> Iterator[str | Table]:
    """Yield the lines and tables of a report for :mod:`hsd_viz.terminal`."""
    yield from introduction(report)
    yield from (line[0].lower() + line[1:] for line in warnings(report))
    for table in tables(report):
        yield from ["", *([f"{table.note}:"] if table.note else []), *([table] if table.rows else [])]


def introduction(report: Report) -> Iterator[str]:
    """Yield suite, settings and machine, and what a reader has to know before any figure."""
    settings, suite, machine = report.settings, report.suite, report.machine
    how = "greedy"
    if settings.temperature:
        how = f"temperature {settings.temperature:g}, {settings.rule} verification"
    if settings.budget is not None:
        how += f", at most {settings.budget} draft tokens of a database or baseline at a time, cost stopping off"
    passes = f"median of {settings.repeats}" if settings.repeats > 1 else "one pass"
    load = ""
    if machine.load_average is not None and machine.cores is not None:
        load = f", load average {machine.load_average:.1f} on {counted(machine.cores, 'core')}"
    yield (
        f"{suite.name}: {counted(suite.prompts, 'prompt')}, {counted(settings.max_new_tokens, 'new token')}, "
        f"{how}, {passes}; {report.processor}, {counted(settings.threads, 'thread')}, {settings.dtype}{load}"
    )
    states = {s.state for s in report.stacks}
    if "warm" in states:
        yield (
            "warm rows keep one memory through the suite, so the order of the prompts is part of what was measured; "
            "each repeat starts with an empty one, so no prompt is decoded with a memory of its own output"
        )
    elif "cold" in states:
        yield "drafters that learn from decode to decode started each one cold, with an empty memory"
    if any(s.stack.startswith("auto") for s in report.stacks):
        yield "auto is the fastest stack by the latency law for this machine, measured before its first decode"
    if earlier := settings.decodes_from_earlier_runs:
        yield f"{earlier} of the decodes are from an earlier run of the same command, which was interrupted"
    if not report.complete:
        yield "cut short: only the prompts that every stack had finished count"
    if settings.template is not None:
        yield f"template {settings.template}: {TEMPLATES[settings.template]}"
    if left_out := settings.left_out:
        yield f"left out, as a turn does not fit the context: {', '.join(left_out)} ({len(left_out)} in all)"


def tables(report: Report) -> Iterator[Table]:
    """Yield the tables: all outputs, those with little repetition, speed-ups by category, and other measurements."""
    suite, stacks = report.suite, ranked(report.stacks)
    if not suite.prompts:
        return
    options: dict[str, Any] = {"kinds": tuple(kind(s.stack) for s in stacks), "forms": COLUMNS}
    rows = [HEAD, *(_row(s, s, low_repetition(s)) for s in stacks)]
    yield Table("All outputs", rows, **options).dense(ONCE)
    title, share = "Outputs with little repetition", f"{report.settings.low_repetition_below:.0%}"
    low = stacks[0].low_repetition
    if low is None:
        yield Table(title, [], f"every plain output repeats itself in {share} of its tokens or more")
    elif low.outputs < suite.prompts:
        rows = [HEAD, *(_row(s, s.low_repetition, None, whole=False) for s in stacks if s.low_repetition is not None)]
        note = f"the {counted(low.outputs, 'output')} with less than {share} repetition"
        yield Table(title, rows, note, **options).dense(ONCE)
    if len(suite.categories) > 1:
        found = [[s.stack, *(s.by_category[c].possible_speedup for c in suite.categories)] for s in stacks]
        forms = dict.fromkeys(suite.categories, ("{:.2f}", 1.0))
        yield Table(BY_CATEGORY, [["speed-up by category", *suite.categories], *found], **options | {"forms": forms})
    if profiled := [s for s in stacks if s.profile]:
        yield Table(
            "Where the time of a target round goes", _profile(profiled), "where the time goes: median µs (share of all)"
        )
    names = ("first_token_seconds", "inter_token_seconds_median", "inter_token_seconds_p99")
    found = [[s.stack, *(getattr(s, name) for name in names)] for s in stacks]
    latency = Table("Latency", [["stack", *LATENCY], *found], **options | {"forms": LATENCY}).dense()
    if len(latency.rows[0]) > 1:
        yield latency


def _row(stack: StackResult, block: Figures, low: Figures | None, whole: bool = True) -> list[Value]:
    """Return the values of :data:`HEAD`; ``whole``: of all outputs."""
    same = stack.token_identical_to_plain if whole else None
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


def _profile(stacks: Sequence[StackResult]) -> list[list[Value]]:
    rows: list[list[Value]] = [["stack", "round", "forward passes", DRAFTING, REST]]
    for s in stacks:
        assert s.profile is not None
        sums = {part: [0.0, 0.0] for part in (FORWARD, DRAFTING, REST)}
        for part, time in s.profile.parts.items():
            # Older reports have other parts.
            group = sums[FORWARD if part.startswith(FORWARD) else DRAFTING if part == DRAFTING else REST]
            group[0] += time.median_us
            group[1] += time.share
        cells = [shared.Cell(f"{us:.0f}", f"({share:.0%})") for us, share in sums.values()]
        rows.append([s.stack, f"{s.profile.round_us:.0f}", *cells])
    return rows


def speed_bars(stacks: Sequence[StackResult], category: str | None = None) -> list[Bar]:
    """Return the possible speed-ups over all prompts, or those of one category, the largest first. Over all prompts the
    second value is the speed-up at little repetition, where that differs.
    """
    rows = []
    for s in stacks:
        block = s if category is None else s.by_category.get(category)
        if block is None or block.possible_speedup.value is None:
            continue
        low = low_repetition(block) if category is None else None
        second = low.speedup_over_plain if low is not None and plausible(low) else UNKNOWN
        rows.append(Bar(s.stack, kind(s.stack), block.speedup_over_plain, second))
    return sorted(rows, key=lambda row: -(row.value.value or 0.0))


def page(report: Report) -> str:
    """Return the page of a report."""
    parts: list[Table | Bars] = []
    if report.suite.prompts:
        rows = speed_bars(report.stacks)
        thin = any(row.second.value is not None for row in rows)
        parts.append(Bars(SPEED_TITLE, rows, speed_words(thin, any(row.value.interval for row in rows))))
        found = {c: speed_bars(report.stacks, c) for c in report.suite.categories}
        most = max((row.most() for some in found.values() for row in some), default=1.0)
        for table in tables(report):
            parts.append(table)
            if table.title == BY_CATEGORY:
                parts += [Bars(c, found[c], report.suite.categories[c], most, panel=True) for c in found]
    text = json.loads(Path(__file__).with_name("definitions.json").read_text(encoding="utf-8"))
    facts = {"Settings": to_dict(report.settings), "Machine": to_dict(report.machine)}
    first_line, *more = introduction(report)
    used = {kind(s.stack) for s in report.stacks}
    return shared.page(
        f"Speculative decoding, measured: {report.suite.name}",
        [f"Suite {first_line}", *more],
        parts,
        headline=answer(report),
        warnings=warnings(report),
        facts={
            name: {
                text["labels"].get(key, key): fact(value, key)
                for key, value in group.items()
                if value is not None and key != "gpus"
            }
            for name, group in facts.items()
        },
        kinds={name: about for name, about in KINDS.items() if name in used},
        command=report.command or "",
        definitions=text["definitions"],
    )


def fact(value: Any, name: str) -> str:
    """Return the value of a setting, or of a fact about the machine, as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if name == "low_repetition_below":
        return f"{value:.0%}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
