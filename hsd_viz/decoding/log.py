"""The observer of a loop: records of one target round, with own times that never overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter_ns
from typing import NamedTuple, Protocol

from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.records import CallRow, DraftRow, RoundRow

#: Makes a named tuple of all its fields in order: in half the time that its own class takes.
_row = tuple.__new__


class Timer(Protocol):
    """The time that a device spent on a launch, known once the launch is complete."""

    def ns(self) -> int: ...


class VerifiedDraft(NamedTuple):
    """A verified draft: all that its :class:`~hsd_viz.trace.records.DraftRow` rows are made of.

    ``p``, ``q``, ``u``, ``h`` are the verdict's, by node; ``walked`` the nodes that it accepted, ``accepted`` those up
    to an end token.
    """

    round: int
    level: int
    tree: DraftTree
    p: list[float | None]
    q: list[float | None]
    u: list[float | None]
    walked: list[int]
    accepted: list[int]
    h: list[float | None] | None

    def rows(self, piece: Callable[[int], str]) -> Iterator[DraftRow]:
        """Return a row for each node; ``piece`` gives a token's text."""
        tree = self.tree
        fates = ["unreached" if p is None else "rejected" for p in self.p]
        for node in self.walked:
            fates[node] = "cut"
        for node in self.accepted:
            fates[node] = "accepted"
        return map(
            DraftRow,
            repeat(self.round),
            repeat(self.level),
            tree.sources,
            range(len(tree)),
            tree.parents,
            tree.depths(),
            tree.tokens,
            map(piece, tree.tokens),
            self.p,
            self.q,
            self.u,
            fates,
            tree.key_lengths,
            tree.counts,
            tree.scores,
            tree.positions,
            repeat(None) if self.h is None else self.h,
            repeat(None) if tree.recut is None else tree.recut,
        )


@dataclass(slots=True)
class Log:
    """Records of the round in progress. The loop reports to it; the consumer of the loop takes the records
    (:meth:`take`).

    ``zero`` is the clock at the start of the decode; all times are nanoseconds after it. ``clock`` gives nanoseconds:
    wall time, or another clock for measurements on a machine with other work (:meth:`by`).
    """

    zero: int = field(default_factory=perf_counter_ns)
    rounds: list[RoundRow] = field(default_factory=list)
    drafts: list[VerifiedDraft] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    # Of each open round its id, its level and its start, the innermost last.
    _open: list[tuple[int, int, int]] = field(default_factory=list)
    clock: Callable[[], int] = perf_counter_ns
    _next: int = 0
    # Calls that were launched and not yet waited for: their place in ``calls``, and their time.
    _running: list[tuple[int, Timer]] = field(default_factory=list)

    @classmethod
    def by(cls, clock: Callable[[], int]) -> Log:
        """Start a log now with another clock."""
        return cls(zero=clock(), clock=clock)

    def now(self) -> int:
        return self.clock() - self.zero

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the decode's."""
        self.zero = self.clock() - now

    def open_round(self, level: int) -> None:
        self._open.append((self._next, level, self.clock() - self.zero))
        self._next += 1

    def close_round(self, tree: DraftTree, verdict: Verdict, accepted: list[int], outcome: str) -> None:
        """End the innermost open round, in which ``accepted`` nodes of its draft were accepted."""
        opened = self._open
        this, level, start = opened.pop()
        parent = opened[-1][0] if opened else None
        drafted, why = len(tree), None
        if drafted:
            judged = verdict.p, verdict.q, verdict.u, verdict.accepted, accepted, verdict.h
            self.drafts.append(_row(VerifiedDraft, (this, level, tree, *judged)))
        else:
            why = tree.why_empty or "no match"
        count = len(accepted)
        examined = count if outcome == "stopped" else verdict.examined
        spent = self.clock() - self.zero - start
        rule = "token" if verdict.h is None else "block"
        counts = drafted, examined, count, outcome, why
        self.rounds.append(_row(RoundRow, (this, parent, level, *counts, start, spent, rule)))

    def plain_round(self, level: int, name: str, start: int, end: int, fed: int, cached: int) -> None:
        """Record a round without a draft, which one forward pass from ``start`` to ``end`` was."""
        this, self._next = self._next, self._next + 1
        self.rounds.append(_row(RoundRow, (this, None, level, 0, 0, 0, "plain", "off", start, end - start, "token")))
        self.calls.append(_row(CallRow, (this, level, name, "verify", 1, fed, cached, start, end - start)))

    def call(
        self,
        level: int,
        name: str,
        kind: str,
        start: int,
        fed: int,
        cached: int = 0,
        steps: int = 1,
        timer: Timer | None = None,
    ) -> None:
        """Record a call that began at ``start`` (from :meth:`now`) and is complete now.

        With ``timer`` it was only launched: it continues on the device and is complete before the next call is. It
        belongs to the innermost open round, -1 before the first.
        """
        end = self.clock() - self.zero
        round_id = self._open[-1][0] if self._open else -1
        row = _row(CallRow, (round_id, level, name, kind, steps, fed, cached, start, end - start))
        if timer is not None:
            self._running.append((len(self.calls), timer))
        elif self._running:
            row = self._settle(row, end)
        self.calls.append(row)

    def _settle(self, last: CallRow, end: int) -> CallRow:
        """Assign launched calls the time the device spent on them, in order, and ``last`` the remaining time until
        ``end``.

        The host's clock saw a launch as a moment, and their work as part of ``last``, which waited for it. A device
        works in order, so each began when it was launched or when the one before it was over.
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

    def take(self) -> tuple[list[VerifiedDraft], list[RoundRow], list[CallRow]]:
        """Return and clear the records so far: verified drafts, rounds, calls."""
        taken = self.drafts, self.rounds, self.calls
        self.drafts, self.rounds, self.calls = [], [], []
        return taken
