"""A trace as sent to the browser: plain JSON of the types in :mod:`hsd_viz.views.contract`."""

from __future__ import annotations

from typing import Any

from hsd_viz.figures.panels import level_names
from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace
from hsd_viz.views.contract import Call, Draft, Round, Token


def number(value: float | None) -> float | None:
    """Round to six significant digits, which keeps messages short."""
    return None if value is None else float(f"{value:.6g}")


def _top(top: Any) -> list | None:
    return None if top is None else [[int(token), number(p)] for token, p in top]


def token(row: TokenRow) -> list:
    """Return the row of an emitted token."""
    return list(
        Token(
            id=row.token_id,
            text=row.text,
            raw=row.raw,
            round=row.round,
            kind=row.kind,
            source=row.source,
            path=list(row.path),
            depth=row.depth,
            p=number(row.p),
            entropy=number(row.entropy),
            top=_top(row.top),
            residual=_top(row.residual_top),
            q=_top(row.q_top),
            left=number(row.residual_sum),
        )
    )


def draft(row: DraftRow) -> list:
    """Return the row of a draft token."""
    return list(
        Draft(
            round=row.round,
            level=row.level,
            source=row.source,
            node=row.node,
            parent=row.parent,
            depth=row.depth,
            id=row.token_id,
            text=row.text,
            p=number(row.p),
            q=number(row.q),
            u=number(row.u),
            verdict=row.verdict,
            key=row.key_length,
            count=row.count,
            score=number(row.score),
            position=row.position,
            h=number(row.h),
            recut=None if row.recut is None else list(row.recut),
        )
    )


def verification(row: RoundRow) -> list:
    """Return the row of a round."""
    return list(
        Round(
            id=row.id,
            parent=row.parent,
            level=row.level,
            drafted=row.drafted,
            examined=row.examined,
            accepted=row.accepted,
            outcome=row.outcome,
            why=row.why_no_draft,
            ns=row.duration_ns,
            start=row.start_ns,
            rule=row.rule,
        )
    )


def call(row: CallRow) -> list:
    """Return the row of a call (forward pass, launch or look-up)."""
    return list(
        Call(
            round=row.round,
            level=row.level,
            name=row.name,
            kind=row.kind,
            steps=row.steps,
            fed=row.fed,
            cached=row.cached,
            start=row.start_ns,
            ns=row.duration_ns,
        )
    )


def pieces(table: dict[int, str]) -> dict[str, str]:
    """Return token texts by id, with string keys."""
    return {str(k): v for k, v in table.items()}


def step(rows: Step) -> dict[str, Any]:
    """Return the rows of one or more target rounds."""
    return {
        "tokens": [token(t) for t in rows.tokens],
        "drafts": [draft(d) for d in rows.drafts],
        "rounds": [verification(r) for r in rows.rounds],
        "calls": [call(c) for c in rows.calls],
        "pieces": pieces(rows.pieces),
    }


def snapshot(trace: Trace) -> dict[str, Any]:
    """Return a whole trace, for a reloaded page or one opened during a run."""
    return {
        **head(trace.meta),
        **step(Step(trace.token_rows, trace.draft_rows, trace.round_rows, trace.call_rows, trace.pieces)),
    }


def head(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the meta that views show: prompt, its token ids if known, level names, and under ``meta`` the stack,
    sampling, and the times (ns) of prefill and of the decode (``None`` until known).
    """
    return {
        "prompt": str(meta.get("prompt", "")),
        "prompt_ids": list(meta.get("prompt_ids") or []),
        "levels": level_names(meta),
        "meta": {
            "stack": str(meta.get("stack_resolved") or meta.get("stack") or ""),
            # Its numbers: the rule is in each round.
            "sampling": {name: value for name, value in (meta.get("sampling") or {}).items() if name != "rule"},
            "prefill_ns": meta.get("prefill_ns"),
            "wall_ns": meta.get("wall_ns"),
        },
    }
