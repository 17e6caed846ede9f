"""The events of a run, in the order of ``indexOf`` in ``js/lib/run.ts``."""

from __future__ import annotations

from typing import NamedTuple

from hsd_viz.trace import DraftRow, Trace


class RunEvent(NamedTuple):
    """An event of a target round: its draft is proposed (``draft``), a draft token gets its ``verdict``, or the round's
    own ``token`` is drawn. ``token`` indexes the text's token at that position, ``draft`` is the row of a verdict.
    """

    kind: str
    round: int
    token: int
    draft: DraftRow | None


def events_of(trace: Trace) -> list[RunEvent]:
    """Return all events in order. An index in this list is a cursor step, one less than the number shown."""
    drafts: dict[int, list[DraftRow]] = {r.id: [] for r in trace.round_rows if r.parent is None}
    for row in trace.draft_rows:
        if row.round in drafts:
            drafts[row.round].append(row)
    tokens, found, at = trace.token_rows, [], 0
    for number, drafted in drafts.items():
        rejected = sorted((d for d in drafted if d.verdict == "rejected"), key=lambda d: (d.depth, d.node))
        kept = {(d.depth, d.token_id): d for d in reversed(drafted) if d.verdict == "accepted"}
        if drafted:
            found.append(RunEvent("draft", number, at, None))
        while at < len(tokens) and tokens[at].round == number:
            token = tokens[at]
            accepted = token.kind == "accepted"
            # At one position, rejected tokens come before the accepted one.
            while rejected and (not accepted or rejected[0].depth <= token.depth):
                found.append(RunEvent("verdict", number, at, rejected.pop(0)))
            row = kept.get((token.depth, token.token_id)) if accepted else None
            found.append(RunEvent("verdict" if accepted else "token", number, at, row))
            at += 1
        found += [RunEvent("verdict", number, at, row) for row in rejected]
    last = len(tokens) - 1
    return [event._replace(token=min(event.token, last)) for event in found]
