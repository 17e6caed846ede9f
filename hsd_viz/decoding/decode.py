"""One decode from prompt to trace: runs the loop and turns what it did into events."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from hsd_viz.decoding.loop import Loop, Verified
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.text import TokenText
from hsd_viz.trace import Event, Finished, Stage, Started, Step, TokenRow, Trace
from hsd_viz.trace.records import Top

TOP = 5


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
            tokens = _token_rows(loop, verified, text, len(trace.token_rows), len(prompt), record)
            drafts, rounds, calls = loop.log.take()
            tops = [top for row in tokens for top in (row.top, row.residual_top, row.q_top) if top]
            ids = [*(row.token_id for row in tokens), *(d.token_id for d in drafts), *(i for top in tops for i, _ in top)]
            pieces = _new_pieces(text, ids, named)
            step = Step(tokens, drafts, rounds, prefill_calls + calls, pieces)
            prefill_calls = []
            trace.append(step)
            meta["wall_ns"] = loop.log.now()
            before = time.perf_counter_ns()
            yield step
            # Time spent by whoever looks at the event is not the decode's.
            loop.log.zero += time.perf_counter_ns() - before
    finally:
        last = trace.token_rows[-1].token_id if trace.token_rows else None
        if last in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            whole = len(trace.token_rows) >= meta["max_new_tokens"]
            meta |= {"stop_reason": "length" if whole else "context", "cancelled": False}
    yield Finished(trace)


def _new_pieces(text: TokenText, ids: list[int], named: set[int]) -> dict[int, str]:
    fresh = set(ids) - named
    named |= fresh
    return text.pieces(sorted(fresh))


def _token_rows(loop: Loop, verified: Verified, text: TokenText, first: int, prompt: int, record: bool) -> list[TokenRow]:
    """The tokens that one verification of the target emitted."""
    top_level = len(loop.levels) - 1
    kept, count = verified.kept, len(verified.kept)
    details = _describe(verified.logits, verified.rows, kept.tree.tokens) if record else [(None, None, None)] * count
    depths = verified.draft.tree.depths()
    round_id = loop.log.rounds[-1].id
    rows = []
    for k, token in enumerate(kept.tree.tokens):
        own = verified.own and k == count - 1
        piece, raw = text.piece(token)
        extra: dict[str, Top | None] = {}
        if own and record and verified.outcome == "correction" and not loop.sampling.greedy:
            extra = _correction(loop, verified)
        rows.append(
            TokenRow(
                index=first + k,
                token_id=token,
                text=piece,
                raw=raw,
                round=round_id,
                kind=verified.outcome if own else "accepted",
                source="target" if own else kept.tree.sources[k],
                path=tuple(range(kept.origins[k], top_level + 1)),
                depth=0 if own else depths[verified.accepted[k]],
                p=details[k][0],
                entropy=details[k][1],
                top=details[k][2],
                **extra,
            )
        )
    return rows


def _describe(logits: Tensor, rows: list[int], tokens: list[int]) -> list[tuple[float, float, Top]]:
    """(p of the token, entropy in nats, top-5) at temperature 1 for each row, in one transfer.

    With scores x and p = softmax(x): log p = x - log Z and log Z = max x - log max p, so the entropy is log Z - sum p x. That
    spares a logarithm for every token of the vocabulary: recording must not slow the decode that it records.
    """
    x = (logits if len(rows) == len(logits) else logits[rows]).float()
    p = torch.softmax(x, dim=-1)
    top = p.topk(min(TOP, p.shape[-1]), dim=-1)
    mine = p.gather(-1, torch.tensor(tokens, device=p.device)[:, None])
    best = x.gather(-1, top.indices[:, :1])
    # A score of -inf (a forbidden token) has p = 0 and adds nothing.
    mean = (p * x.clamp_min(torch.finfo(x.dtype).min)).sum(-1, keepdim=True)
    values = torch.cat([mine, best, mean, top.values, top.indices], dim=-1).tolist()
    width = top.values.shape[-1]
    out = []
    for v in values:
        entropy = max(0.0, v[1] - math.log(v[3]) - v[2])
        out.append((v[0], entropy, tuple(zip(map(int, v[3 + width :]), v[3 : 3 + width], strict=True))))
    return out


def _correction(loop: Loop, verified: Verified) -> dict[str, Top | None]:
    """The likeliest tokens of what a correction was drawn from, and of the draft's q there."""
    draft, row = verified.draft, verified.verdict.row
    if draft.rows is not None:
        return {"residual_top": _top(verified.verdict.residual), "q_top": _top(draft.rows[row])}
    left = distribution(verified.logits[row : row + 1], loop.sampling)[0].clone()
    # The target drew its own token and it was none of the drafted ones: that is p without them.
    left[[t for t, parent in zip(draft.tree.tokens, draft.tree.parents, strict=True) if parent == row - 1]] = 0
    return {"residual_top": _top(left)}


def _top(weights: Tensor) -> Top:
    found = (weights / weights.sum()).topk(min(TOP, weights.shape[-1]))
    return tuple((int(i), p) for i, p in zip(found.indices.tolist(), found.values.tolist(), strict=True) if p > 0)
