"""One decode from prompt to trace: runs the loop and turns what it did into events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hsd_viz.decoding.details import describe, likeliest
from hsd_viz.decoding.loop import Loop, Verified
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.text import TokenText
from hsd_viz.trace import Event, Finished, Stage, Started, Step, TokenRow, Trace
from hsd_viz.trace.records import Top


def decode(loop: Loop, text: TokenText, meta: dict[str, Any], *, record: bool = True) -> Iterator[Event]:
    """Run ``loop`` and yield what happens; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; whoever
    holds it has a whole trace's meta even when the run is cut short. ``record=False`` leaves out probabilities, entropies and
    top-5 lists.
    """
    prompt = list(loop.text)
    meta |= {"prompt_ids": prompt, "stop_reason": "cancelled", "cancelled": True, "prefill_ns": 0, "wall_ns": 0, "detailed": record}
    trace = Trace(meta)
    named: set[int] = set()
    trace.pieces.update(_new_pieces(text, prompt, named))
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.log.now()
        yield Started(meta, dict(trace.pieces))
        prefill_calls = loop.log.take()[2]
        # The clock of the decode proper starts when the first round does, not while a consumer looks at Started.
        pause = loop.log.now() - meta["prefill_ns"]
        loop.log.zero += pause
        for verified in loop.rounds():
            tokens = _token_rows(loop, verified, text, len(trace.token_rows), record)
            drafts, rounds, calls = loop.log.take()
            ids = [row.token_id for row in tokens]
            ids += [row.token_id for row in drafts]
            for row in tokens:
                for top in (row.top, row.residual_top, row.q_top):
                    if top:
                        ids += [token for token, _ in top]
            pieces = _new_pieces(text, ids, named)
            step = Step(tokens, drafts, rounds, prefill_calls + calls, pieces)
            prefill_calls = []
            trace.append(step)
            meta["wall_ns"] = loop.log.now()
            before = loop.log.clock()
            yield step
            # Time spent by whoever looks at the event is not the decode's.
            loop.log.zero += loop.log.clock() - before
    finally:
        last = trace.token_rows[-1].token_id if trace.token_rows else None
        if last in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            whole = len(trace.token_rows) >= meta["max_new_tokens"]
            meta |= {"stop_reason": "length" if whole else "context", "cancelled": False}
    yield Finished(trace)


def _new_pieces(text: TokenText, ids: list[int], named: set[int]) -> dict[int, str]:
    fresh = set(ids).difference(named)
    if not fresh:
        return {}
    named |= fresh
    return text.pieces(sorted(fresh))


def _token_rows(loop: Loop, verified: Verified, text: TokenText, first: int, record: bool) -> list[TokenRow]:
    """The tokens that one verification of the target emitted."""
    kept, count = verified.kept, len(verified.kept)
    model = loop.levels[-1].model
    details = describe(verified.logits, verified.rows, kept.tree.tokens, model) if record else [(None, None, None)] * count
    depths = verified.draft.tree.depths()
    round_id = loop.log.rounds[-1].id
    rows = []
    for k, (token, source, path, (p, entropy, top)) in enumerate(
        zip(kept.tree.tokens, kept.tree.sources, kept.paths, details, strict=True)
    ):
        own = verified.own and k == count - 1
        residual = q = left = None
        if own and record and verified.outcome == "correction" and not loop.sampling.greedy:
            residual, q, left = _correction(loop, verified)
        piece, raw = text.piece(token)
        rows.append(
            TokenRow(
                first + k,
                token,
                piece,
                raw,
                round_id,
                verified.outcome if own else "accepted",
                "target" if own else source,
                path,
                0 if own else depths[verified.accepted[k]],
                p,
                entropy,
                top,
                residual,
                q,
                left,
            )
        )
    return rows


def _correction(loop: Loop, verified: Verified) -> tuple[Top, Top | None, float]:
    """The likeliest tokens of what a correction was drawn from, those of the draft's q there, and what the first summed to unscaled."""
    draft, row = verified.draft, verified.verdict.row
    if draft.rows is not None:
        residual, left = likeliest(verified.verdict.residual)
        return residual, likeliest(draft.rows[row])[0], left
    left = distribution(verified.logits[row : row + 1], loop.sampling)[0]
    # The target drew its own token and it was none of the drafted ones: that is p without them.
    left[[t for t, parent in zip(draft.tree.tokens, draft.tree.parents, strict=True) if parent == row - 1]] = 0
    residual, whole = likeliest(left)
    return residual, None, whole
