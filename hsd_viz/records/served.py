"""Converts an imported trace of a served request to a run that views can show.

A record with rounds reports how many tokens each round drafted and accepted, but not which. The run
has a placeholder for each token, without probabilities, and the drafter and the target of the
engine as its levels. Rounds without a recorded time share that of the request, or else have a
nominal duration; the run states which.
"""

from __future__ import annotations

from itertools import accumulate

import msgspec

from hsd_viz.errors import Unsupported
from hsd_viz.records.fields import typed
from hsd_viz.records.sample import MAX_DRAFT
from hsd_viz.settings.ranges import check_range
from hsd_viz.stack import TARGET
from hsd_viz.text import counted
from hsd_viz.trace import DraftRow, RoundRow, TokenRow, Trace
from hsd_viz.trace.meta import TraceMeta

#: Placeholders (id, text) of an emitted token, and of a draft token that was not emitted.
EMITTED = (0, "·")
DROPPED = (1, "×")
#: Duration of a round in nanoseconds if no times are known.
NOMINAL_NS = 1_000_000


class _Imported(msgspec.Struct):
    """The facts of an import in a trace.

    Attributes:
        engine: the engine that wrote the record.
        method: the name of the drafter.
    """

    engine: str
    method: str | None = None


class _ServedMeta(msgspec.Struct):
    """The meta fields of an imported trace that are used here.

    Attributes:
        imported: the facts of the import.
        prefill_ns: the duration of the prefill in nanoseconds.
        decode_ns: the duration after the prefill in nanoseconds.
        created: the time of the run.
    """

    imported: _Imported
    prefill_ns: int | None = None
    decode_ns: int | None = None
    created: str | None = None


def served_run(trace: Trace) -> Trace:
    """Return an imported trace as a run that can be shown; other traces are returned unchanged.

    Raises:
        BadFile: if the facts of the import are damaged.
        Unsupported: if the record has no rounds.
    """
    if len(trace):
        return trace
    about = typed(trace.meta, _ServedMeta)
    engine = about.imported.engine
    if not trace.round_rows:
        raise Unsupported(
            f"a record of {engine} without the draft of each round has no run to show: "
            "use `hsd-viz doctor`"
        )
    for row in trace.round_rows:
        check_range("the draft of a round", row.drafted, 0, MAX_DRAFT)
        check_range("the accepted tokens of a round", row.accepted, 0, row.drafted)
    times, clock = _times(trace, about.decode_ns)
    prefill = about.prefill_ns or 0
    starts = [prefill + at for at in accumulate(times, initial=0)]
    drafter = about.imported.method or "draft"
    tokens: list[TokenRow] = []
    drafts: list[DraftRow] = []
    rounds: list[RoundRow] = []
    for row, start, duration in zip(trace.round_rows, starts, times, strict=False):
        rounds.append(row._replace(start_ns=start, duration_ns=duration))
        drafts += [_draft(row, place, drafter) for place in range(row.drafted)]
        for place in range(row.accepted + 1):
            tokens.append(_token(row, place, len(tokens), drafter))
    meta: TraceMeta = trace.meta | {
        "stack": f"{engine}/{drafter} > {engine}/target",
        "prompt": f"({counted(len(tokens), 'token')} that {engine} wrote in {clock}; no texts)",
        "prompt_ids": [],
        "prefill_ns": prefill,
        "wall_ns": starts[-1],
        # The page states the guarantees of this package's rules; it marks an engine's as unchecked.
        "sampling": {"rule": engine},
        "clock": clock,
        "created": about.created or "",
    }
    return Trace(meta).add_rows(tokens=tokens, drafts=drafts, rounds=rounds)


def _times(trace: Trace, decode: int | None) -> tuple[list[int], str]:
    """Return the duration of each round in nanoseconds, and the origin of these times.

    Args:
        trace: the trace with the rounds.
        decode: the total duration of the rounds in nanoseconds; ``None``: unknown.
    """
    rounds = trace.round_rows
    recorded = [row.duration_ns for row in rounds if row.duration_ns is not None]
    if len(recorded) == len(rounds):
        return recorded, "rounds as recorded"
    each = decode // len(rounds) if decode else NOMINAL_NS
    what = "that share the time of the request" if decode else "of unknown times"
    return [each] * len(rounds), f"equal rounds {what}"


def _draft(row: RoundRow, place: int, drafter: str) -> DraftRow:
    """Return the draft token of a round at an index from 0."""
    accepted = place < row.accepted
    token, text = EMITTED if accepted else DROPPED
    verdict = "accepted"
    if not accepted:
        verdict = "rejected" if place == row.accepted else "unreached"
    return DraftRow(
        round=row.id,
        level=row.level,
        source=drafter,
        node=place,
        parent=place - 1,
        depth=place + 1,
        token_id=token,
        text=text,
        p=None,
        q=None,
        u=None,
        verdict=verdict,
    )


def _token(row: RoundRow, place: int, index: int, drafter: str) -> TokenRow:
    """Return the emitted token of a round at an index from 0: accepted draft tokens, then the
    target's own.
    """
    accepted = place < row.accepted
    token, text = EMITTED
    return TokenRow(
        index=index,
        token_id=token,
        text=text,
        raw=None,
        round=row.id,
        kind="accepted" if accepted else row.outcome,
        source=drafter if accepted else TARGET,
        path=[0, 1] if accepted else [1],
        depth=place + 1 if accepted else 0,
    )
