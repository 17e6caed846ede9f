"""A report as tables of words: what the terminal and the page show alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.bench.answers import text_tables
from hsd_viz.bench.profile import FORWARD
from hsd_viz.bench.transformers_settings import GRIDS, in_words
from hsd_viz.bench.verdict import few, kind, ranked, warnings
from hsd_viz.prompts.templates import TEMPLATES
from hsd_viz.words import counted

PARTS = ("drafting", "acceptance", "recording", "rest")
#: In the order in which they are looked for.
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
#: Columns that need no place of their own where they say one thing of all stacks.
ONCE = ("repetition", "same as plain", "runtime")
_INTERVAL = re.compile(r"(\S+) (\[[^\]]+\]|\(\d+%\))\Z")

Rows = list[list[str]]


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` of cells, the head first, or none where there is only ``note`` to say. ``title`` is for a page, ``note`` for any reader.

    ``kinds``: of each row but the head, a key of :data:`hsd_viz.bench.verdict.KINDS`; () where rows are no stacks.
    """

    title: str
    rows: Rows
    note: str = ""
    kinds: tuple[str, ...] = ()


def text_table(report: dict[str, Any]) -> str:
    """The report for reading in a terminal."""
    lines = [*introduction(report), *(line[0].lower() + line[1:] for line in warnings(report))]
    for table in tables(report):
        lines += ["", *([table.note] if table.note else []), *(columns(table.rows) if table.rows else [])]
    return "\n".join(lines)


def introduction(report: dict[str, Any]) -> Iterator[str]:
    """Suite, settings and machine, and what a reader has to know before any figure."""
    machine, settings, suite = report["machine"], report["settings"], report["suite"]
    where = machine["gpu"] if str(settings["device"]).startswith("cuda") else machine["cpu"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    budget = settings.get("budget")
    bounded = (
        "" if budget is None else f", at most {budget} draft tokens of a database or rival at a time, cost stopping off"
    )
    yield (
        f"{suite['name']}: {counted(suite['prompts'], 'prompt')}, {counted(settings['max_new_tokens'], 'new token')}, {how}{bounded}, "
        f"{'median of ' + str(settings['repeats']) if settings['repeats'] > 1 else 'one pass'}; "
        f"{where}, {counted(settings['threads'], 'thread')}, {settings['dtype']}{_load(machine)}"
    )
    if settings.get("padding"):
        yield settings["padding"]
    states = {s["state"] for s in report["stacks"]}
    if "warm" in states:
        yield (
            "warm rows keep one memory through the suite: the order of the prompts is part of what was measured; each repeat begins "
            "with an empty one, so no prompt met what was written for it before"
        )
    if "cold" in states and "warm" not in states:
        yield "drafters that learn from decode to decode began each one cold, with an empty memory"
    if any(s["stack"].startswith("auto") for s in report["stacks"]):
        yield "auto is the fastest stack by the latency law for this machine, measured before its first decode"
    if earlier := settings.get("decodes_from_earlier_runs"):
        yield f"{earlier} of the decodes are from an earlier run of the same command, which was cut short"
    if not report["complete"]:
        yield "cut short: only the prompts that every stack had finished count"
    if (questions := report.get("spec_bench")) is not None:
        yield f"template {questions['template']}: {TEMPLATES[questions['template']]}"
        if left_out := questions["left_out"]:
            yield f"left out, as a turn does not fit the context: {', '.join(left_out)} ({len(left_out)} in all)"


def _load(machine: dict[str, Any]) -> str:
    load, cores = machine.get("load_average"), machine.get("cores")
    return "" if load is None or cores is None else f", load average {load:.1f} on {counted(cores, 'core')}"


def tables(report: dict[str, Any]) -> Iterator[Table]:
    """All outputs, those that repeat themselves little, the speed-up by category, and what else was measured."""
    stacks, suite, settings = report["stacks"], report["suite"], report["settings"]
    if not suite["prompts"]:
        return
    stacks = ranked(stacks)
    kinds = tuple(kind(s["stack"]) for s in stacks)
    yield Table("All outputs", _figures(stacks), kinds=kinds)
    low = stacks[0]["low_repetition"]
    share = f"{settings['low_repetition_below']:.0%}"
    if low is None:
        yield Table(
            "Outputs with little repetition", [], f"every plain output repeats itself in {share} of its tokens or more"
        )
    elif low["outputs"] < suite["prompts"]:
        kept = {"token_identical_to_plain": None, "low_repetition": None}
        rows = _figures([{**s["low_repetition"], "stack": s["stack"], "runtime": s["runtime"], **kept} for s in stacks])
        note = f"the {counted(low['outputs'], 'output')} with less than {share} repetition:"
        yield Table("Outputs with little repetition", _without(rows, "at little repetition"), note, kinds)
    if len(suite["categories"]) > 1:
        head = ["speed-up by category", *suite["categories"]]
        rows = [
            [s["stack"], *(show(s["by_category"][c], "speedup_over_plain", "{:.2f}") for c in suite["categories"])]
            for s in stacks
        ]
        yield Table("Speed-up by category, in numbers", [head, *rows], kinds=kinds)
    yield from _beside(stacks)
    if (questions := report.get("spec_bench")) is not None:
        note = "by Spec-Bench's definitions: prefill counts, tokens/s is the mean over questions, speed-up the ratio of such means"
        for rows in text_tables(questions["stacks"]):
            yield Table(f"Spec-Bench: {rows[0][0]}", rows, note)
            note = ""


def _beside(stacks: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """Profiles, memory and the rivals' settings, where they were measured."""
    if profiled := [s for s in stacks if s["profile"]]:
        title = "where a target round's time goes: median µs (share of all)"
        rows = [[title, "round", "forwards", "target's", *PARTS, "Python / target's forwards"]]
        for s in profiled:
            profile = s["profile"]
            parts = profile["parts"]
            forwards = [part for part in parts if part.startswith(FORWARD)]
            cells = [
                f"{sum(parts[f]['median_us'] for f in forwards):.0f} ({sum(parts[f]['share'] for f in forwards):.0%})"
            ]
            for part in (f"{FORWARD}target", *PARTS):
                cells.append(f"{parts[part]['median_us']:.0f} ({parts[part]['share']:.0%})" if part in parts else "-")
            rows.append([s["stack"], f"{profile['round_us']:.0f}", *cells, f"{profile['python_over_forward']:.0%}"])
        yield Table("Where the time of a round goes", rows)
    if any(s["memory"] for s in stacks):
        rows = [["memory of one decode in a process of its own, MB", "resident", "GPU"]]
        for s in stacks:
            found = s["memory"] or {}
            rows.append([s["stack"], *(_megabytes(found.get(kind)) for kind in ("resident_bytes", "device_bytes"))])
        yield Table("Memory", rows)
    if tuned := [s for s in stacks if s["rival_settings"]]:
        names = {name for grid in GRIDS.values() for options in grid for name in options}
        rows = [["rival", "settings"]]
        rows += [[s["stack"], in_words({n: v for n, v in s["rival_settings"].items() if n in names})] for s in tuned]
        yield Table(
            "Rivals at their best settings",
            rows,
            "best of the settings that were tried on prompts that are not measured:",
        )


def _figures(stacks: Sequence[dict[str, Any]]) -> Rows:
    rows = [list(HEAD)]
    for s in stacks:
        same = s["token_identical_to_plain"]
        draft = s["draft_seconds_per_round"]
        rows.append(
            [
                s["stack"],
                show(s, "speedup_over_plain", "{:.2f}"),
                "-" if (low := few(s)) is None else show(low, "speedup_over_plain", "{:.2f}"),
                show(s, "tokens_per_second", "{:.1f}"),
                show(s, "mean_acceptance_length", "{:.2f}"),
                "-" if s["acceptance_rate"] is None else f"{s['acceptance_rate']:.0%}",
                "-" if draft is None else f"{draft * 1e6:.0f}",
                f"{s['repetition_share'] or 0:.0%}",
                "-" if same is None else f"{same[0]}/{same[1]}",
                s["runtime"] or "-",
            ]
        )
    return rows if any(row[2] != "-" for row in rows[1:]) else _without(rows, HEAD[2])


def _without(rows: Rows, name: str) -> Rows:
    gone = [k for k, cell in enumerate(rows[0]) if cell == name]
    return [[cell for k, cell in enumerate(row) if k not in gone] for row in rows]


def same_for_all(table: Table) -> tuple[Table, str]:
    """For a page: the table without columns in which nothing is known, and those of :data:`ONCE` that say one thing of all stacks said in
    a sentence, "" where there are none."""
    said = []
    rows = table.rows
    for name, *column in zip(*table.rows, strict=True):
        told = set(column)
        if name != table.rows[0][0] and (told == {"-"} or (name in ONCE and len(column) > 1 and len(told) == 1)):
            rows = _without(rows, name)
            said += [f"{name} {column[0]}"] if told != {"-"} else []
    return replace(table, rows=rows), f"The same for all stacks: {', '.join(said)}." if said else ""


def split(cell: str) -> tuple[str, str]:
    """A cell's figure and its interval, or share, which stands below it on a page ("": none)."""
    found = _INTERVAL.match(cell)
    return (found[1], found[2]) if found else (cell, "")


def _megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f}"


def show(block: dict[str, Any], name: str, form: str) -> str:
    """A figure of a block of the report, with its interval where it has one."""
    value, interval = block[name], block[f"{name}_ci"]
    if value is None:
        return "-"
    return form.format(value) + (f" [{form.format(interval[0])}, {form.format(interval[1])}]" if interval else "")


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines: the first column left, the others right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]
