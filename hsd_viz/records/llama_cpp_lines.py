"""llama.cpp's log lines: requests, verifications and statistics of ``llama-server`` of all
versions, and the summary of ``llama-speculative``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from hsd_viz.records.file_context import (
    NUMBER,
    Context,
    Finisher,
    LinePattern,
    SampleCompletion,
    number,
    numbers,
)
from hsd_viz.records.llama_cpp import LINE, METHODS, NAME, ROUND, SIMPLE, STATISTICS
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    reaching,
    with_fixed_length,
)
from hsd_viz.words import counted


@dataclass(frozen=True, slots=True)
class _Counts:
    """What a drafter of a server has counted, since the start or in between.

    Attributes:
        calls: how often it was asked for a draft: once before each forward pass.
        drafts: drafts.
        drafted: draft tokens.
        accepted: accepted draft tokens.
        by_position: drafts whose first k tokens were accepted, from rounded rates; () if unknown.
    """

    calls: float = 0.0
    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    by_position: tuple[float, ...] = ()

    def since(self, before: _Counts) -> _Counts:
        """Return what was added to ``before``; all of it where the server was restarted."""
        if self.drafts < before.drafts or self.drafted < before.drafted:
            return self
        earlier = before.by_position or (0.0,) * len(self.by_position)
        places = zip(self.by_position, earlier, strict=False)
        return _Counts(
            calls=max(0.0, self.calls - before.calls),
            drafts=self.drafts - before.drafts,
            drafted=self.drafted - before.drafted,
            accepted=self.accepted - before.accepted,
            by_position=tuple(max(0.0, now - then) for now, then in places),
        )


@dataclass(slots=True)
class _Statistics:
    """The statistics that a log has.

    Attributes:
        last: the cumulative counts of each drafter.
        whole: all counts of each drafter, over restarts of the server.
        block: what the lines of the present block added, by drafter.
        place: line, time and clock of the block.
        samples: the blocks so far.
    """

    last: dict[str, _Counts] = field(default_factory=dict)
    whole: dict[str, list[_Counts]] = field(default_factory=dict)
    block: dict[str, _Counts] = field(default_factory=dict)
    place: tuple[int, float | None, str] = (0, None, "")
    samples: list[Sample] = field(default_factory=list)

    def add(self, name: str, counts: _Counts, context: Context) -> None:
        """Add a line. A drafter that comes again starts the next block."""
        if name in self.block:
            self.end_block()
        added = counts.since(self.last.get(name, _Counts()))
        self.last[name] = counts
        self.whole.setdefault(name, []).append(added)
        self.block[name] = added
        self.place = (context.line, context.time, context.clock)

    def end_block(self) -> None:
        """Add the sample of the present block: each round is of one of its drafters."""
        rows = list(self.block.values())
        self.block = {}
        calls = max((row.calls for row in rows), default=0.0)
        if not calls:
            return
        accepted = sum(row.accepted for row in rows)
        alone = rows[0].by_position if len(rows) == 1 else ()
        line, time, clock = self.place
        sample = Sample(
            line=line,
            time=time,
            clock=clock,
            drafts=sum(row.drafts for row in rows),
            drafted=sum(row.drafted for row in rows),
            accepted=accepted,
            by_position=alone or None,
            tokens=calls + accepted,
            passes=calls,
            derived=frozenset(("tokens", "passes", "by_position")),
        )
        self.samples.append(with_fixed_length(sample))


@dataclass(frozen=True, slots=True)
class _Drafting:
    """The drafting of a drafter since the start of the server.

    Attributes:
        drafts: the drafts.
        ms: the milliseconds that they took.
    """

    drafts: float = 0.0
    ms: float = 0.0


@dataclass(slots=True)
class _Notes:
    """What was read of the lines before. A task is a request of a slot.

    Attributes:
        task: the last task that a line named.
        timings: the figures of each task, by name.
        rounds: the verifications of each task.
        statistics: what the drafters counted.
        drafting: the drafting of each drafter.
        draft_ms: milliseconds per draft, of each line that shows them.
        simple: the figures of the summary of ``llama-speculative``, by name.
    """

    task: str = ""
    timings: dict[str, dict[str, float]] = field(default_factory=dict)
    rounds: dict[str, list[RecordedVerification]] = field(default_factory=dict)
    statistics: _Statistics = field(default_factory=_Statistics)
    drafting: dict[str, _Drafting] = field(default_factory=dict)
    draft_ms: list[float] = field(default_factory=list)
    simple: dict[str, float] = field(default_factory=dict)


def _task(text: str) -> str:
    """Return the task that the prefix of a line names: lines of several slots are interleaved."""
    match = re.search(r"id +(\d+) +\| +task +(-?\d+)", text)
    return f"{match[1]}:{match[2]}" if match else ""


def _timings(context: Context, text: str) -> dict[str, float]:
    """Return what was read of the task of a line; a line without a prefix is of the last one."""
    notes = context.notes_of(_Notes)
    notes.task = _task(text) or notes.task
    return notes.timings.setdefault(notes.task, {})


def _header(match: re.Match[str], context: Context) -> None:
    _timings(context, match.string)


def _prompt_time(match: re.Match[str], context: Context) -> None:
    timings = _timings(context, match.string)
    timings.clear()
    timings["prefill_ms"] = float(match[1])
    timings["prompt"] = float(match[2])


def _eval_time(match: re.Match[str], context: Context) -> None:
    timings = _timings(context, match.string)
    timings["decode_ms"] = float(match[1])
    timings["tokens"] = float(match[2])


def _acceptance(match: re.Match[str], context: Context) -> Sample | None:
    timings = _timings(context, match.string)
    accepted = float(match[2])
    drafted = float(match[3])
    if not drafted:
        return None
    rates = numbers(match[5]) if match[5] else ()
    drafts = _drafts(accepted, drafted, number(match[4]), rates)
    tokens = timings.pop("tokens", None)
    prefill = timings.pop("prefill_ms", None)
    decode = timings.pop("decode_ms", None)
    prompt = timings.pop("prompt", None)
    rounds = tuple(context.notes_of(_Notes).rounds.pop(_task(match.string), ()))
    complete = sum(row.drafted for row in rounds) == drafted
    sample = Sample(
        drafts=len(rounds) if complete else drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(rate * drafts for rate in rates) if rates and drafts else None,
        verifications=rounds if complete else (),
        tokens=tokens,
        passes=None if tokens is None else tokens - accepted,
        prefill_seconds=None if prefill is None else prefill / 1e3,
        seconds=None if decode is None else decode / 1e3,
        request=RecordedRequest(context=prompt),
        derived=frozenset(("drafts", "by_position", "passes")),
    )
    return with_fixed_length(sample)


def _drafts(
    accepted: float, drafted: float, length: float | None, rates: tuple[float, ...]
) -> float | None:
    """Return the number of verifications that rounded figures imply, ``None`` without them.

    Versions before 24536 print none: it is unknown how many forward passes had a draft.
    """
    if length is None or length <= 1:
        return None
    whole = drafted / len(rates) if rates else 0.0
    if rates and whole == round(whole) and abs(1 + accepted / whole - length) <= 0.006:
        return whole
    if rates and sum(rates):
        return float(round(accepted / sum(rates)))
    return float(round(accepted / (length - 1)))


_COUNTS = re.compile(
    r"#calls(?:\(b,g,a\))? = *(?P<calls>[\d ]+), #gen drafts = *(?P<drafts>\d+)"
    r", #acc drafts = *\d+, #gen tokens = *(?P<drafted>\d+), #acc tokens = *(?P<accepted>\d+)"
)
_RATES = re.compile(r"#acc rate/pos = \(([\d., ]+)\)")


def _count(name: str, text: str, context: Context) -> None:
    """Count a line of statistics."""
    match = _COUNTS.search(text)
    if match is None:
        return
    calls = match["calls"].split()
    rates = _RATES.search(text)
    drafts = float(match["drafts"])
    counts = _Counts(
        # Begun requests, drafts asked for, accepted ones; older versions print the second alone.
        calls=float(calls[1] if len(calls) == 3 else calls[0]),
        drafts=drafts,
        drafted=float(match["drafted"]),
        accepted=float(match["accepted"]),
        by_position=tuple(rate * drafts for rate in numbers(rates[1])) if rates else (),
    )
    context.notes_of(_Notes).statistics.add(name, counts, context)


def by_statistics(context: Context) -> list[Sample]:
    """Return the samples of the statistics of a log."""
    statistics = context.notes_of(_Notes).statistics
    statistics.end_block()
    return statistics.samples


def several_drafters(context: Context) -> list[str]:
    """Return what each of several drafters did by the statistics of a log, as a remark."""
    statistics = context.notes_of(_Notes).statistics
    if not statistics.samples or len(statistics.whole) < 2:
        return []
    parts = []
    for name, rows in statistics.whole.items():
        drafted = sum(row.drafted for row in rows)
        rate = f"{sum(row.accepted for row in rows) / drafted:.1%}" if drafted else "none"
        drafts = counted(round(sum(row.drafts for row in rows)), "draft")
        parts.append(f"{name} {drafts}, {rate} of its draft tokens accepted")
    return [f"several drafters, added here: {'; '.join(parts)}"]


def _statistics(match: re.Match[str], context: Context) -> None:
    """Read the drafter, its counts, and the time of drafting; all are cumulative."""
    name = match[1]
    drafts = float(match[2])
    _count(name, match.string, context)
    if drafts:
        context.method = METHODS.get(name, "lookup" if "ngram" in name else "draft")
    times = re.search(r"dur\(b,g,a\) = [\d.]+, ([\d.]+), [\d.]+ ms", match.string)
    if times is None:
        return
    spent = float(times[1])
    notes = context.notes_of(_Notes)
    before = notes.drafting.get(name, _Drafting())
    if drafts < before.drafts:
        before = _Drafting()
    if drafts > before.drafts:
        notes.draft_ms.append((spent - before.ms) / (drafts - before.drafts))
    notes.drafting[name] = _Drafting(drafts, spent)


def with_drafting(samples: Sequence[Sample], context: Context) -> list[Sample]:
    """Return the requests of a log with the mean time of drafting that its statistics state."""
    times = context.notes_of(_Notes).draft_ms
    if not times:
        return list(samples)
    return [replace(one, draft_ms=fmean(times)) for one in samples]


COMPLETIONS = (SampleCompletion(NAME, with_drafting),)


def _round(match: re.Match[str], context: Context) -> None:
    """Keep a verification until the end of its request; before 18211 the draft length is 0."""
    accepted = int(match[1])
    drafted = int(match[2])
    if drafted >= accepted:
        rounds = context.notes_of(_Notes).rounds
        rounds.setdefault(_task(match.string), []).append(RecordedVerification(drafted, accepted))


def unfinished(context: Context) -> list[Sample]:
    """Return the requests of a verbose log whose end is missing, by their verifications."""
    rounds = context.notes_of(_Notes).rounds
    return [of_verifications(tuple(rows)) for rows in rounds.values() if rows]


def of_verifications(rows: tuple[RecordedVerification, ...]) -> Sample:
    """Return the sample of a request of which every verification is known."""
    drafted = [row.drafted for row in rows]
    accepted = [row.accepted for row in rows]
    longest = max(drafted)
    return Sample(
        drafts=len(rows),
        drafted=sum(drafted),
        accepted=sum(accepted),
        by_position=reaching(accepted, longest),
        reached=reaching(drafted, longest),
        verifications=rows,
        request=RecordedRequest(),
    )


def _simple(match: re.Match[str], context: Context) -> None:
    context.notes_of(_Notes).simple[match[1]] = float(match[2])


def _simple_end(match: re.Match[str], context: Context) -> Sample | None:
    notes = context.notes_of(_Notes)
    figures = notes.simple
    notes.simple = {}
    if "n_drafted" not in figures:
        return None
    accepted = float(match[1])
    tokens = figures.get("n_predict")
    return Sample(
        drafted=figures["n_drafted"],
        accepted=accepted,
        tokens=tokens,
        passes=None if tokens is None else tokens - accepted,
        derived=frozenset(("passes",)),
    )


LINES = (
    LinePattern(
        LINE,
        re.compile(
            rf"draft acceptance(?: rate)? = {NUMBER} \( *(\d+) accepted / *(\d+) generated\)"
            rf"(?:, mean (?:acceptance length|len) = *{NUMBER})?"
            r"(?:, acceptance rate per position = \(([\d., ]+)\))?"
        ),
        _acceptance,
        single=True,
    ),
    LinePattern(None, re.compile(r"prompt eval time = *([\d.]+) ms / *(\d+) tokens"), _prompt_time),
    LinePattern(
        None,
        re.compile(r"(?<!prompt )eval time = *([\d.]+) ms / *(\d+) (?:tokens|runs)"),
        _eval_time,
    ),
    LinePattern(None, re.compile(r"slot +print_timing: id"), _header),
    LinePattern(
        None, re.compile(r"statistics +([\w-]+): #calls.*?#gen drafts = *(\d+)"), _statistics
    ),
    LinePattern(ROUND, re.compile(r"accepted (\d+)/ *(\d+) draft tokens"), _round),
    LinePattern(None, re.compile(r"^\s*(n_draft|n_predict|n_drafted) += +(\d+)\s*$"), _simple),
    LinePattern(SIMPLE, re.compile(r"^\s*n_accept += +(\d+)\s*$"), _simple_end, single=True),
)


FINISHERS = (
    Finisher(ROUND, unfinished, single=True, counted=False),
    Finisher(STATISTICS, by_statistics, several_drafters, instead_of=(LINE, ROUND)),
)
