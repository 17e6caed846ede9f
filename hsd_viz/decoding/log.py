"""What the loop writes down while it runs: the rows of one target round, with own times that never overlap."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns

from hsd_viz.trace.records import CallRow, DraftRow, RoundRow


@dataclass(slots=True)
class _Open:
    id: int
    level: int
    start: int


@dataclass(slots=True)
class Log:
    """Rows of the round in progress. ``zero`` is the clock at the start of the decode; all times are nanoseconds after it."""

    zero: int = field(default_factory=perf_counter_ns)
    rounds: list[RoundRow] = field(default_factory=list)
    drafts: list[DraftRow] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _next: int = 0

    def now(self) -> int:
        return perf_counter_ns() - self.zero

    @property
    def round(self) -> int:
        """The innermost open round, -1 before the first."""
        return self._open[-1].id if self._open else -1

    @property
    def level(self) -> int:
        """The level of the innermost open round."""
        return self._open[-1].level

    def open_round(self, level: int) -> None:
        self._open.append(_Open(self._next, level, self.now()))
        self._next += 1

    def close_round(self, drafted: int, examined: int, accepted: int, outcome: str, why_no_draft: str | None) -> None:
        this = self._open.pop()
        parent = self._open[-1].id if self._open else None
        spent = self.now() - this.start
        self.rounds.append(RoundRow(this.id, parent, this.level, drafted, examined, accepted, outcome, why_no_draft, this.start, spent))

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """One call that began at ``start`` (from :meth:`now`) and ends now."""
        self.calls.append(CallRow(self.round, level, name, kind, steps, fed, cached, start, self.now() - start))

    def take(self) -> tuple[list[DraftRow], list[RoundRow], list[CallRow]]:
        """Hand over the rows gathered so far."""
        taken = self.drafts, self.rounds, self.calls
        self.drafts, self.rounds, self.calls = [], [], []
        return taken
