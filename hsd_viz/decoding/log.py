"""What the loop in Python records: verifications, and the columns that they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Any

from hsd_viz.decoding.verify import Draft, Verdict
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.tables import TABLES, CallRow, Columns, RoundRow, TokenRow


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


_TREE, _VERDICT = ({field.name for field in fields(of)} for of in (DraftTree, Verdict))
#: The columns of drafts that are fields of a tree, there in the plural, and those of a table that a verdict has.
_OF_TREE = {c: f"{c}s" for c in TABLES["drafts"].columns if f"{c}s" in _TREE}
_OF_VERDICT = {name: [c for c in TABLES[name].columns if c in _VERDICT] for name in ("drafts", "rounds")}


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
        columns: dict[str, Any] = {"round": repeat(this), "level": repeat(level), "node": range(n), "verdict": fates}
        columns |= {"depth": depths, "token_id": tree.tokens}
        columns |= {column: getattr(tree, field) for column, field in _OF_TREE.items()}
        columns |= {column: getattr(verdict, column) or repeat(None) for column in _OF_VERDICT["drafts"]}
        self._rows["drafts"] += zip(*(columns.get(c, repeat(None, n)) for c in TABLES["drafts"].columns), strict=False)
        examined = count if outcome == "stopped" else verdict.examined
        row: dict[str, Any] = {"id": this, "parent": parent, "level": level, "start_ns": start, "duration_ns": spent}
        row |= {"drafted": n, "examined": examined, "accepted": count, "outcome": outcome}
        row |= {"why_no_draft": None if n else tree.why_empty or "no match"}
        self._rows["rounds"].append(RoundRow(**{c: getattr(verdict, c) for c in _OF_VERDICT["rounds"]} | row))
        if parent is None:
            self._emit(this, verified)

    def _emit(self, this: int, verified: Verification) -> None:
        draft, level, accepted, verdict = verified.draft, verified.level, verified.accepted, verified.verdict
        depths, sources = draft.tree.depths(), draft.tree.sources
        drawn = verdict.correction if verified.outcome == "correction" else None
        for k, token in enumerate(verified.tokens):
            if k < len(accepted):
                node = accepted[k]
                origin = ["accepted", sources[node], [*draft.paths[node], level], depths[node]]
            else:
                origin = [verified.outcome, "target", [level], 0]
            detail = verdict.details[k] if verdict.details else (None, None, None)
            last = drawn if drawn and k == len(accepted) else ()
            self._rows["tokens"].append(TokenRow(self._tokens, token, None, None, this, *origin, *detail, *last))
            self._tokens += 1

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` and ends now. It belongs to the innermost open round, -1 before the
        first.
        """
        this = self._open[-1][0] if self._open else -1
        self._rows["calls"].append(CallRow(this, level, name, kind, steps, fed, cached, start, self.now() - start))

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken = {name: table.columns_of(self._rows[name]) for name, table in TABLES.items()}
        for rows in self._rows.values():
            rows.clear()
        return taken
