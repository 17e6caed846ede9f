"""What the loop writes down while it runs: the rows of one target round, with own times that never overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Protocol

from hsd_viz.trace.records import CallRow, DraftRow, RoundRow


class Timer(Protocol):
    """The time that a device spent on a launch, known once the device is through with it."""

    def ns(self) -> int: ...


@dataclass(slots=True)
class _Open:
    id: int
    level: int
    start: int


@dataclass(slots=True)
class Log:
    """Rows of the round in progress. ``zero`` is the clock at the start of the decode; all times are nanoseconds after it.

    ``clock`` gives nanoseconds: wall time, or what a measurement on a machine with other work puts in its place (:meth:`by`).
    """

    zero: int = field(default_factory=perf_counter_ns)
    rounds: list[RoundRow] = field(default_factory=list)
    drafts: list[DraftRow] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    clock: Callable[[], int] = perf_counter_ns
    _next: int = 0
    # Calls that were launched and not yet waited for: their place in ``calls``, and their time.
    _running: list[tuple[int, Timer]] = field(default_factory=list)

    @classmethod
    def by(cls, clock: Callable[[], int]) -> Log:
        """A log that begins now by another clock."""
        return cls(zero=clock(), clock=clock)

    def now(self) -> int:
        return self.clock() - self.zero

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

    def call(
        self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1, timer: Timer | None = None
    ) -> None:
        """One call that began at ``start`` (from :meth:`now`) and ends now, the device being through with it.

        With ``timer`` it was only launched: it goes on beside the host and is over before the next call is.
        """
        end = self.now()
        row = CallRow(self.round, level, name, kind, steps, fed, cached, start, end - start)
        if timer is not None:
            self._running.append((len(self.calls), timer))
        elif self._running:
            row = self._settle(row, end)
        self.calls.append(row)

    def _settle(self, last: CallRow, end: int) -> CallRow:
        """Give launched calls the time the device spent on them, one after the other, and ``last`` what is left until ``end``.

        The host's clock saw a launch as a moment, and their work as part of ``last``, which waited for it. A device works
        in order, so each began when it was launched or when the one before it was over.
        """
        over = 0
        for place, timer in self._running:
            row = self.calls[place]
            start = max(row.start_ns, over)
            over = min(start + timer.ns(), end)
            self.calls[place] = row._replace(start_ns=start, duration_ns=over - start)
        self._running.clear()
        start = max(last.start_ns, over)
        return last._replace(start_ns=start, duration_ns=end - start)

    def take(self) -> tuple[list[DraftRow], list[RoundRow], list[CallRow]]:
        """Hand over the rows gathered so far."""
        taken = self.drafts, self.rounds, self.calls
        self.drafts, self.rounds, self.calls = [], [], []
        return taken
