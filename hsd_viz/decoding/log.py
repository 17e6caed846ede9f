"""What the loop in Python records: verifications, and the rows of the tables that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat

from hsd_viz.decoding.verify import Correction, Detail, Draft, Verdict
from hsd_viz.trace.tables import TABLES, Columns


@dataclass(slots=True)
class Verification:
    """One verification by a level, and the ``tokens`` it emits: the ``accepted`` nodes', which are the verdict's up to
    an end token, then its own, unless the ``outcome`` is ``stopped``.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]

    @property
    def details(self) -> list[Detail] | None:
        """The details of the emitted tokens, where they were recorded."""
        return None if self.verdict.details is None else self.verdict.details[: len(self.tokens)]

    @property
    def correction(self) -> Correction | None:
        """What the last token was drawn from, where it is a correction that was sampled and details were recorded."""
        return self.verdict.correction if self.outcome == "correction" else None

    @property
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [(*self.draft.paths[node], self.level) for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append((self.level,))
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])


class Log:
    """What the loop did, as rows of the tables without the texts of tokens, until taken. ``now`` gives the time
    of the decode; own times of calls never overlap.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._rows: dict[str, list[tuple]] = {name: [] for name in TABLES}
        # Of each open round its id, its level and its start, the innermost last.
        self._open: list[tuple[int, int, int]] = []
        self._rounds = self._tokens = 0

    def open_round(self, level: int) -> None:
        self._open.append((self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, verified: Verification) -> None:
        """End the innermost open round; that of the target emits its tokens."""
        this, level, start = self._open.pop()
        spent, parent = self.now() - start, self._open[-1][0] if self._open else None
        tree, verdict, accepted, outcome = verified.draft.tree, verified.verdict, verified.accepted, verified.outcome
        n, count, depths = len(tree), len(accepted), tree.depths()
        fates = ["unreached" if p is None else "rejected" for p in verdict.p]
        for fate, nodes in (("cut", verdict.accepted), ("accepted", accepted)):
            for node in nodes:
                fates[node] = fate
        null: Iterator[None] = repeat(None)
        places = repeat(this), repeat(level), tree.sources, range(n), tree.parents, depths, tree.tokens, null
        judged = verdict.p, verdict.q, verdict.u, fates
        found = tree.key_lengths, tree.counts, tree.scores, tree.positions, verdict.h or null
        self._rows["drafts"] += zip(*places, *judged, *found, strict=False)
        examined = count if outcome == "stopped" else verdict.examined
        counts = n, examined, count, outcome, None if n else tree.why_empty or "no match"
        self._rows["rounds"].append((this, parent, level, *counts, start, spent, verdict.rule))
        if parent is None:
            self._emit(this, verified)

    def _emit(self, this: int, verified: Verification) -> None:
        draft, level, accepted, residual = verified.draft, verified.level, verified.accepted, verified.correction
        depths, sources = draft.tree.depths(), draft.tree.sources
        for k, (token, detail) in enumerate(zip(verified.tokens, verified.details or repeat(None), strict=False)):
            drawn: tuple = (None, None, None)
            if k < len(accepted):
                node = accepted[k]
                origin: tuple = "accepted", sources[node], (*draft.paths[node], level), depths[node]
            else:
                origin = verified.outcome, "target", (level,), 0
                drawn = drawn if residual is None else residual
            row = self._tokens, token, None, None, this, *origin, *(detail or (None, None, None)), *drawn
            self._rows["tokens"].append(row)
            self._tokens += 1

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` and ends now. It belongs to the innermost open round, -1 before the
        first.
        """
        this = self._open[-1][0] if self._open else -1
        self._rows["calls"].append((this, level, name, kind, steps, fed, cached, start, self.now() - start))

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken = {name: table.columns_of(self._rows[name]) for name, table in TABLES.items()}
        for rows in self._rows.values():
            rows.clear()
        return taken
