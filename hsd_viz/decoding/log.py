"""The log of a decode: the tables of the trace, with a row per call, round, draft and token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hsd_viz.decoding.levels import LevelRound
from hsd_viz.stack import TARGET
from hsd_viz.trace.rows import CallRow, RoundRow, Row, TokenRow
from hsd_viz.trace.tables import Columns
from hsd_viz.trace.trace import empty_tables

#: The round number of calls that precede the first round.
BEFORE_ROUNDS = -1


@dataclass(frozen=True, slots=True)
class _OpenRound:
    """A round that has not ended yet.

    Attributes:
        number: the id of the round.
        level: the level that verifies.
        start: the start in ns since the start of the decode.
    """

    number: int
    level: int
    start: int


class Log:
    """A recorder of the tables of a decode, without the texts of tokens.

    The times of calls never overlap.

    Args:
        now: a function that returns the time of the decode in ns.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._tables = empty_tables()
        #: The open rounds, the innermost last.
        self._open: list[_OpenRound] = []
        self._rounds = 0
        self._tokens = 0

    def open_round(self, level: int) -> None:
        """Open a round of a level, inside the innermost open round if there is one."""
        self._open.append(_OpenRound(self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, level_round: LevelRound) -> None:
        """Close the innermost round and record it, with its tokens if it is a target's round."""
        closed = self._open.pop()
        duration = self.now() - closed.start
        parent = self._open[-1].number if self._open else None
        self._record_drafts(closed, level_round)
        self._record_round(closed, parent, level_round, duration)
        if parent is None:
            self._record_tokens(closed.number, level_round)

    def _record_drafts(self, closed: _OpenRound, level_round: LevelRound) -> None:
        """Record a row for each node of the draft."""
        tree = level_round.draft.tree
        verdict = level_round.verdict
        if not len(tree):
            return
        columns: dict[str, Any] = {
            "round": [closed.number] * len(tree),
            "level": [closed.level] * len(tree),
            "node": range(len(tree)),
            "parent": tree.parents,
            "depth": tree.depths(),
            "token_id": tree.tokens,
            "text": [""] * len(tree),  # added where the tokenizer is
            "p": verdict.p,
            "q": verdict.q,
            "u": verdict.u,
            "verdict": self._verdicts(level_round),
            "h": verdict.h,
        }
        columns |= tree.origin_columns()
        self._extend("drafts", columns, len(tree))

    @staticmethod
    def _verdicts(level_round: LevelRound) -> list[str]:
        """Return the verdict of each node."""
        verdicts = ["unreached" if p is None else "rejected" for p in level_round.verdict.p]
        # Accepted nodes after an end token or beyond the limit are cut.
        for node in level_round.verdict.accepted:
            verdicts[node] = "cut"
        for node in level_round.accepted:
            verdicts[node] = "accepted"
        return verdicts

    def _record_round(
        self, closed: _OpenRound, parent: int | None, level_round: LevelRound, duration: int
    ) -> None:
        tree = level_round.draft.tree
        accepted = len(level_round.accepted)
        is_stopped = level_round.outcome == "stopped"
        why_no_draft = None
        if not len(tree):
            why_no_draft = tree.why_empty or "no match"
        row = RoundRow(
            id=closed.number,
            parent=parent,
            level=closed.level,
            drafted=len(tree),
            examined=accepted if is_stopped else level_round.verdict.examined,
            accepted=accepted,
            outcome=level_round.outcome,
            why_no_draft=why_no_draft,
            start_ns=closed.start,
            duration_ns=duration,
            rule=level_round.verdict.rule,
            draft_end=level_round.draft.end,
        )
        self._add("rounds", row)

    def _record_tokens(self, number: int, level_round: LevelRound) -> None:
        """Record the tokens that a round of the target emits."""
        verdict = level_round.verdict
        for place, token in enumerate(level_round.tokens):
            p, entropy, top = verdict.details[place] if verdict.details else (None, None, None)
            row = TokenRow(
                index=self._tokens,
                token_id=token,
                text="",  # added where the tokenizer is
                raw=None,
                round=number,
                kind=level_round.outcome,
                source=TARGET,
                path=[level_round.level],
                depth=0,
                p=p,
                entropy=entropy,
                top=top,
            )
            if place < len(level_round.accepted):
                row = self._accepted(row, level_round, level_round.accepted[place])
            elif verdict.correction is not None:
                row = row._replace(
                    residual_top=verdict.correction.residual_top,
                    q_top=verdict.correction.q_top,
                    residual_sum=verdict.correction.residual_sum,
                )
            self._add("tokens", row)
            self._tokens += 1

    @staticmethod
    def _accepted(row: TokenRow, level_round: LevelRound, node: int) -> TokenRow:
        """Return the row of an accepted draft token, with its source and the levels it passed."""
        tree = level_round.draft.tree
        return row._replace(
            kind="accepted",
            source=tree.origins[node].source,
            path=[*level_round.draft.paths[node], level_round.level],
            depth=tree.depths()[node],
        )

    def call(
        self,
        level: int,
        name: str,
        kind: str,
        start: int,
        fed: int,
        cached: int = 0,
        steps: int = 1,
    ) -> None:
        """Record a call from ``start`` to now, as part of the innermost open round if any."""
        row = CallRow(
            round=self._open[-1].number if self._open else BEFORE_ROUNDS,
            level=level,
            name=name,
            kind=kind,
            steps=steps,
            fed=fed,
            cached=cached,
            start_ns=start,
            duration_ns=self.now() - start,
        )
        self._add("calls", row)

    def _add(self, table: str, row: Row) -> None:
        for column, value in zip(self._tables[table].values(), row, strict=True):
            column.append(value)

    def _extend(self, table: str, columns: dict[str, Any], rows: int) -> None:
        """Append values by column; for ``None``, append that many missing values."""
        for name, column in self._tables[table].items():
            values = columns[name]
            column += [None] * rows if values is None else values

    def take(self) -> dict[str, Columns]:
        """Return the four tables recorded so far, and clear them."""
        taken = self._tables
        self._tables = empty_tables()
        return taken
