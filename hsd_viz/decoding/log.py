"""What the loop in Python records: verifications, and the columns that they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from hsd_viz.decoding.verify import Draft, Verdict
from hsd_viz.trace.tables import Columns, empty_tables


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
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [[*self.draft.paths[node], self.level] for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append([self.level])
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])


class Log:
    """What the loop did, as the columns of a trace without the texts of tokens, until taken. ``now`` gives the time
    of the decode; own times of calls never overlap.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        # Of each open round its id, its level and its start, the innermost last.
        self._open: list[tuple[int, int, int]] = []
        self._rounds = self._tokens = 0
        self._columns = empty_tables()

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken, self._columns = self._columns, empty_tables()
        return taken

    def _add(self, table: str, n: int, *of: object, **known: Any) -> None:
        """Append ``n`` rows: lists are the values of a column, all else is the value in each row. A column that is not
        ``known`` is the field of its name, in a tree in the plural, of one of the objects, else null.
        """
        for name, column in self._columns[table].items():
            fields = (getattr(one, field) for one in of for field in (name, f"{name}s") if hasattr(one, field))
            value = known[name] if name in known else next(fields, None)
            column += value if isinstance(value, list) else repeat(value, n)

    def open_round(self, level: int) -> None:
        self._open.append((self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, verified: Verification) -> None:
        """End the innermost open round; that of the target emits its tokens."""
        this, level, start = self._open.pop()
        parent = self._open[-1][0] if self._open else None
        times = {"start_ns": start, "duration_ns": self.now() - start}
        tree, verdict, accepted, outcome = verified.draft.tree, verified.verdict, verified.accepted, verified.outcome
        n, count, depths = len(tree), len(accepted), tree.depths()
        fates = ["unreached" if p is None else "rejected" for p in verdict.p]
        for fate, nodes in (("cut", verdict.accepted), ("accepted", accepted)):
            for node in nodes:
                fates[node] = fate
        ids = {"round": this, "level": level, "node": [*range(n)], "depth": depths, "token_id": tree.tokens}
        self._add("drafts", n, verdict, tree, **ids, text=None, verdict=fates)
        examined = count if outcome == "stopped" else verdict.examined
        counts = {"drafted": n, "examined": examined, "accepted": count, "outcome": outcome}
        why = None if n else tree.why_empty or "no match"
        self._add("rounds", 1, verdict, **counts, **times, id=this, parent=parent, level=level, why_no_draft=why)
        if parent is not None:
            return
        for k, token in enumerate(verified.tokens):
            row: dict[str, Any] = {"index": self._tokens, "token_id": token, "round": this}
            if k < count:
                node = accepted[k]
                row |= {"kind": "accepted", "source": tree.sources[node], "depth": depths[node]}
                row |= {"path": [*verified.draft.paths[node], level]}
            else:
                row |= {"kind": outcome, "source": "target", "depth": 0, "path": [level]}
                if outcome == "correction" and verdict.correction is not None:
                    row |= zip(("residual_top", "q_top", "residual_sum"), verdict.correction, strict=True)
            if verdict.details is not None:
                row |= zip(("p", "entropy", "top"), verdict.details[k], strict=True)
            self._add("tokens", 1, **{name: [value] for name, value in row.items()})
            self._tokens += 1

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` and ends now. It belongs to the innermost open round, -1 before the
        first.
        """
        this, spent = self._open[-1][0] if self._open else -1, self.now() - start
        work = {"level": level, "name": name, "kind": kind, "steps": steps, "fed": fed, "cached": cached}
        self._add("calls", 1, **work, round=this, start_ns=start, duration_ns=spent)
