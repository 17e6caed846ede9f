"""Statistics of ``llama-server``: the counts of each drafter since the start of the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from hsd_viz.records.engines.llama_cpp import LINE, METHODS, NAME, ROUND, STATISTICS
from hsd_viz.records.file_context import (
    Context,
    Finisher,
    LinePattern,
    SampleCompletion,
    figure,
    numbers,
)
from hsd_viz.records.sample import Sample, with_fixed_length
from hsd_viz.text import counted


@dataclass(frozen=True, slots=True)
class _Counts:
    """The counts of a drafter, since the start of the server or between two lines.

    Attributes:
        calls: the number of requests for a draft, one before each forward pass.
        drafts: the number of drafts.
        drafted: the number of draft tokens.
        accepted: the number of accepted draft tokens.
        by_position: the number of drafts whose first k tokens were accepted, from rounded rates;
            (): unknown.
    """

    calls: float = 0.0
    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    by_position: tuple[float, ...] = ()

    def since(self, before: _Counts) -> _Counts:
        """Return the difference to ``before``; all counts if the server was restarted."""
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
    """The statistics in a log.

    Attributes:
        last: the last cumulative counts of each drafter.
        whole: all counts of each drafter, over restarts of the server.
        block: the counts added by the lines of the present block, by drafter.
        place: the line and the time of the block.
        samples: the samples of the blocks so far.
    """

    last: dict[str, _Counts] = field(default_factory=dict)
    whole: dict[str, list[_Counts]] = field(default_factory=dict)
    block: dict[str, _Counts] = field(default_factory=dict)
    place: tuple[int, str] = (0, "")
    samples: list[Sample] = field(default_factory=list)

    def add(self, name: str, counts: _Counts, context: Context) -> None:
        """Add a line. A drafter that is already in the block starts the next block."""
        if name in self.block:
            self.end_block()
        added = counts.since(self.last.get(name, _Counts()))
        self.last[name] = counts
        self.whole.setdefault(name, []).append(added)
        self.block[name] = added
        self.place = (context.line, context.clock)

    def end_block(self) -> None:
        """Add the sample of the present block, in which each round belongs to one drafter."""
        rows = list(self.block.values())
        self.block = {}
        calls = max((row.calls for row in rows), default=0.0)
        if not calls:
            return
        accepted = sum(row.accepted for row in rows)
        alone = rows[0].by_position if len(rows) == 1 else ()
        line, clock = self.place
        sample = Sample(
            line=line,
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
        drafts: the number of drafts.
        ms: the total duration in milliseconds.
    """

    drafts: float = 0.0
    ms: float = 0.0


@dataclass(slots=True)
class _Notes:
    """The state from previous lines.

    Attributes:
        statistics: the statistics of the drafters.
        drafting: the drafting of each drafter.
        draft_ms: the milliseconds per draft of each line that reports them.
    """

    statistics: _Statistics = field(default_factory=_Statistics)
    drafting: dict[str, _Drafting] = field(default_factory=dict)
    draft_ms: list[float] = field(default_factory=list)


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
    drafts = figure(match["drafts"])
    counts = _Counts(
        # Started requests, requested drafts, accepted drafts; older versions print only the second.
        calls=figure(calls[1] if len(calls) == 3 else calls[0]),
        drafts=drafts,
        drafted=figure(match["drafted"]),
        accepted=figure(match["accepted"]),
        by_position=tuple(rate * drafts for rate in numbers(rates[1])) if rates else (),
    )
    context.notes_of(_Notes).statistics.add(name, counts, context)


def by_statistics(context: Context) -> list[Sample]:
    """Return the samples of the statistics in a log."""
    statistics = context.notes_of(_Notes).statistics
    statistics.end_block()
    return statistics.samples


def several_drafters(context: Context) -> list[str]:
    """Return remarks on each of several drafters in the statistics of a log."""
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
    """Read a drafter, its counts, and its time of drafting, which are cumulative."""
    name = match[1]
    drafts = figure(match[2])
    _count(name, match.string, context)
    if drafts:
        context.method = METHODS.get(name, "lookup" if "ngram" in name else "draft")
    times = re.search(r"dur\(b,g,a\) = [\d.]+, ([\d.]+), [\d.]+ ms", match.string)
    if times is None:
        return
    spent = figure(times[1])
    notes = context.notes_of(_Notes)
    before = notes.drafting.get(name, _Drafting())
    if drafts < before.drafts:
        before = _Drafting()
    if drafts > before.drafts:
        notes.draft_ms.append((spent - before.ms) / (drafts - before.drafts))
    notes.drafting[name] = _Drafting(drafts, spent)


def with_drafting(samples: Sequence[Sample], context: Context) -> list[Sample]:
    """Return the requests of a log with the mean time of drafting from its statistics."""
    times = context.notes_of(_Notes).draft_ms
    if not times:
        return list(samples)
    return [replace(sample, draft_ms=fmean(times)) for sample in samples]


COMPLETIONS = (SampleCompletion(NAME, with_drafting),)
LINES = (
    LinePattern(
        None, re.compile(r"statistics +([\w-]+): #calls.*?#gen drafts = *(\d+)"), _statistics
    ),
)
FINISHERS = (Finisher(STATISTICS, by_statistics, several_drafters, instead_of=(LINE, ROUND)),)
