"""Check the identities of a complete trace: counts that are recorded twice must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.trace.metrics import level_metrics
from hsd_viz.trace.rows import RoundRow
from hsd_viz.trace.tables import Columns
from hsd_viz.trace.trace import Trace


def check(trace: Trace) -> None:
    """Check the identities of a complete trace.

    Raises:
        UserError: if an identity is violated; the message names the first.
    """
    # Columns are used, because creating tens of thousands of rows takes long.
    tokens = trace.columns["tokens"]
    drafts = trace.columns["drafts"]
    rounds = {row.id: row for row in trace.round_rows}
    target = max((row.level for row in rounds.values()), default=0)
    _same("token indices run from 0", tokens["index"], list(range(len(tokens["index"]))))
    _check_drafts(drafts, rounds)
    _check_parents(rounds, target)
    _check_emitted(tokens, rounds, target)
    _check_accepted(tokens, drafts)
    for level in level_metrics(trace.columns["rounds"]):
        total = sum(level["accepted_histogram"])
        _same(f"level {level['level']}: histogram", total, level["rounds"])
    spent = sum(trace.columns["calls"]["duration_ns"])
    wall = trace.meta["wall_ns"]
    _same(f"calls took {spent} ns of {wall} ns: at most all", spent <= wall, True)


def _check_drafts(drafts: Columns, rounds: dict[int, RoundRow]) -> None:
    """Check that the number of draft tokens in each round is the number that the round reports."""
    drafted = Counter(drafts["round"])
    for number in drafted:
        _same(f"draft of round {number}: there is such a round", number in rounds, True)
    verdicts = Counter(zip(drafts["round"], drafts["verdict"], strict=True))
    for row in rounds.values():
        sums = f"round {row.id}: drafted = accepted + rejected + unreached + cut"
        _same(sums, row.drafted, drafted[row.id])
        _same(f"round {row.id}: accepted", row.accepted, verdicts[row.id, "accepted"])


def _check_parents(rounds: dict[int, RoundRow], target: int) -> None:
    """Check that the parent of each round is of a higher level; a target round has no parent."""
    for row in rounds.values():
        if row.parent is None:
            serves_higher = row.level == target
        else:
            parent = rounds.get(row.parent)
            serves_higher = row.level < target and parent is not None and parent.level > row.level
        _same(f"round {row.id}: its parent {row.parent} is of a level above", serves_higher, True)


def _check_emitted(tokens: Columns, rounds: dict[int, RoundRow], target: int) -> None:
    """Check that each target round emitted its accepted tokens and its own token."""
    expected: Counter[tuple[int, str]] = Counter()
    for row in rounds.values():
        if row.level != target:
            continue
        expected[row.id, "accepted"] += row.accepted
        if row.outcome != "stopped":
            expected[row.id, row.outcome] += 1
    emitted = Counter(zip(tokens["round"], tokens["kind"], strict=True))
    for number, kind in expected | emitted:
        what = f"round {number} of the target: {kind} tokens"
        _same(what, emitted[number, kind], expected[number, kind])


def _check_accepted(tokens: Columns, drafts: Columns) -> None:
    """Check that each emitted draft token has exactly one accepted row in the drafts."""
    accepted: Counter[tuple] = Counter()
    for place, verdict in zip(_places(drafts), drafts["verdict"], strict=True):
        if verdict == "accepted":
            accepted[place] += 1
    for place, kind, index in zip(_places(tokens), tokens["kind"], tokens["index"], strict=True):
        if kind == "accepted":
            _same(f"token {index}: one accepted draft row", accepted[place], 1)


def _places(table: Columns) -> Iterator[tuple]:
    """Yield the round, depth, token and source of each row."""
    yield from zip(table["round"], table["depth"], table["token_id"], table["source"], strict=True)


def _same(what: str, actual: Any, expected: Any) -> None:
    if actual != expected:
        raise UserError(f"the trace violates an identity: {what}: {actual} is not {expected}")
