"""The observer of a loop: records of one target round, with own times that never overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter_ns
from typing import NamedTuple

from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.tables import CallRow, DraftRow, RoundRow

#: Makes a named tuple of all its fields in order: in half the time that its own class takes.
_row = tuple.__new__


class VerifiedDraft(NamedTuple):
    """A verified draft: all that its :class:`~hsd_viz.trace.tables.DraftRow` rows are made of.

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
        rule = verdict.rule
        counts = drafted, examined, count, outcome, why
        self.rounds.append(_row(RoundRow, (this, parent, level, *counts, start, spent, rule)))

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` (from :meth:`now`) and ends now. It belongs to the innermost open
        round, -1 before the first.
        """
        end = self.clock() - self.zero
        round_id = self._open[-1][0] if self._open else -1
        self.calls.append(_row(CallRow, (round_id, level, name, kind, steps, fed, cached, start, end - start)))

    def take(self) -> tuple[list[VerifiedDraft], list[RoundRow], list[CallRow]]:
        """Return and clear the records so far: verified drafts, rounds, calls."""
        taken = self.drafts, self.rounds, self.calls
        self.drafts, self.rounds, self.calls = [], [], []
        return taken
