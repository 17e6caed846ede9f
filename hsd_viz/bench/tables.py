"""A report as tables of text, for terminal and page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hsd_viz.bench.output import DRAFTING, FORWARD, REST
from hsd_viz.bench.report import Figures, Report, StackResult, kind
from hsd_viz.bench.verdict import low_repetition, ranked, warnings
from hsd_viz.prompts.templates import TEMPLATES
from hsd_viz.tables import Rows, Table, show
from hsd_viz.terminal import plain
from hsd_viz.words import counted

#: The columns of the first table, by importance.
HEAD = (
    "stack",
    "speed-up",
    "at little repetition",
    "tokens/s",
    "acceptance length",
    "accepted",
    "drafting µs/round",
    "repetition",
    "same as plain",
    "runtime",
)
LATENCY = ("first token ms", "between tokens ms", "between tokens p99 ms")
#: Columns that a page replaces by a note where all stacks have the same value.
ONCE = ("repetition", "same as plain", "runtime")


def text_table(report: Report) -> str:
    """Return the report as plain text."""
    return plain(text_parts(report))


def text_parts(report: Report) -> Iterator[str | Rows]:
    """Yield the lines and tables of a report for :mod:`hsd_viz.terminal`."""
    yield from introduction(report)
    yield from (line[0].lower() + line[1:] for line in warnings(report))
    for table in tables(report):
        yield from ["", *([table.note] if table.note else []), *([table.rows] if table.rows else [])]


def introduction(report: Report) -> Iterator[str]:
    """Yield suite, settings and machine, and what a reader has to know before any figure."""
    settings, suite, machine = report.settings, report.suite, report.machine
    how = "greedy"
    if settings.temperature:
        how = f"temperature {settings.temperature:g}, {settings.rule} verification"
    budget = settings.budget
    if budget is not None:
        how += f", at most {budget} draft tokens of a database or baseline at a time, cost stopping off"
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
    kinds = tuple(kind(s.stack) for s in stacks)
    rows = [[*HEAD], *(_row(s, s, low_repetition(s), s.token_identical_to_plain) for s in stacks)]
    yield Table("All outputs", _without_empty(rows, HEAD[2]), kinds=kinds)
    title, share = "Outputs with little repetition", f"{report.settings.low_repetition_below:.0%}"
    low = stacks[0].low_repetition
    if low is None:
        yield Table(title, [], f"every plain output repeats itself in {share} of its tokens or more")
    elif low.outputs < suite.prompts:
        rows = [[*HEAD]] + [_row(s, s.low_repetition, None, None) for s in stacks if s.low_repetition is not None]
        note = f"the {counted(low.outputs, 'output')} with less than {share} repetition:"
        yield Table(title, _without(rows, "at little repetition"), note, kinds)
    if len(suite.categories) > 1:
        rows = [["speed-up by category", *suite.categories]]
        for s in stacks:
            blocks = (s.by_category[c] for c in suite.categories)
            rows.append([s.stack, *(show(block.possible_speedup, "{:.2f}") for block in blocks)])
        yield Table("Speed-up by category, in numbers", rows, kinds=kinds)
    yield from _other_tables(stacks)


def _other_tables(stacks: Sequence[StackResult]) -> Iterator[Table]:
    """Yield profiles and latencies, where they were measured."""
    if profiled := [(s.stack, s.profile) for s in stacks if s.profile]:
        rows = [["where a target round's time goes: median µs (share of all)", "round", "forwards", DRAFTING, "rest"]]
        for name, profile in profiled:
            parts = {**dict.fromkeys((FORWARD, DRAFTING, REST), (0.0, 0.0))}
            for part, time in profile.parts.items():
                key = FORWARD if part.startswith(FORWARD) else DRAFTING if part == DRAFTING else REST
                parts[key] = (parts[key][0] + time.median_us, parts[key][1] + time.share)
            cells = (f"{us:.0f} ({share:.0%})" for us, share in parts.values())
            rows.append([name, f"{profile.round_us:.0f}", *cells])
        yield Table("Where the time of a round goes", rows)
    rows = [["stack", *LATENCY]]
    for s in stacks:
        times = (s.first_token_seconds, s.inter_token_seconds_median, s.inter_token_seconds_p99)
        rows.append([s.stack, *(show(time, "{:.2f}", 1e3) for time in times)])
    for name in LATENCY:
        rows = _without_empty(rows, name)
    if len(rows[0]) > 1:
        yield Table("Latency", rows, kinds=tuple(kind(s.stack) for s in stacks))


def _row(stack: StackResult, block: Figures, low: Figures | None, same: tuple[int, int] | None) -> list[str]:
    draft, accepted = block.draft_seconds_per_round.value, block.acceptance_rate.value
    return [
        stack.stack,
        show(block.possible_speedup, "{:.2f}"),
        "-" if low is None else show(low.possible_speedup, "{:.2f}"),
        show(block.tokens_per_second, "{:.1f}"),
        show(block.mean_acceptance_length, "{:.2f}"),
        "-" if accepted is None else f"{accepted:.0%}",
        "-" if draft is None else f"{draft * 1e6:.0f}",
        f"{block.repetition_share.value or 0:.0%}",
        "-" if same is None else f"{same[0]}/{same[1]}",
        stack.runtime or "-",
    ]


def _without_empty(rows: Rows, name: str) -> Rows:
    """Return the rows without the column ``name`` if it has no figures."""
    at = rows[0].index(name)
    return rows if any(row[at] != "-" for row in rows[1:]) else _without(rows, name)


def _without(rows: Rows, name: str) -> Rows:
    keep = [k for k, cell in enumerate(rows[0]) if cell != name]
    return [[row[k] for k in keep] for row in rows]


def same_for_all(table: Table) -> tuple[Table, str]:
    """Return the table without empty columns and without equal ones of :data:`ONCE`, and a note on the latter."""
    same = []
    rows = table.rows
    for name, *column in zip(*table.rows, strict=True):
        values = set(column)
        if name != table.rows[0][0] and (values == {"-"} or (name in ONCE and len(column) > 1 and len(values) == 1)):
            rows = _without(rows, name)
            same += [f"{name} {column[0]}"] if values != {"-"} else []
    return replace(table, rows=rows), f"The same for all stacks: {', '.join(same)}." if same else ""
