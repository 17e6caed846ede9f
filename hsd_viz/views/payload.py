"""A trace as sent to the browser: plain JSON, rows as lists in the order defined in static/linked_run.js."""

from __future__ import annotations

from typing import Any

from hsd_viz.figures.panels import level_names
from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace


def number(value: float | None) -> float | None:
    """Round to six significant digits, which keeps messages short."""
    return None if value is None else float(f"{value:.6g}")


def _top(top: Any) -> list | None:
    return None if top is None else [[int(token), number(p)] for token, p in top]


def token(row: TokenRow) -> list:
    """Return the row of an emitted token."""
    return [
        row.token_id,
        row.text,
        row.raw,
        row.round,
        row.kind,
        row.source,
        list(row.path),
        row.depth,
        number(row.p),
        number(row.entropy),
        _top(row.top),
        _top(row.residual_top),
        _top(row.q_top),
        number(row.residual_sum),
    ]


def draft(row: DraftRow) -> list:
    """Return the row of a draft token."""
    return [
        row.round,
        row.level,
        row.source,
        row.node,
        row.parent,
        row.depth,
        row.token_id,
        row.text,
        number(row.p),
        number(row.q),
        number(row.u),
        row.verdict,
        row.key_length,
        row.count,
        number(row.score),
        row.position,
    ]


def verification(row: RoundRow) -> list:
    """Return the row of a round."""
    return [
        row.id,
        row.parent,
        row.level,
        row.drafted,
        row.examined,
        row.accepted,
        row.outcome,
        row.why_no_draft,
        row.duration_ns,
        row.start_ns,
    ]


def call(row: CallRow) -> list:
    """Return the row of a call (forward pass, launch or look-up)."""
    return [row.round, row.level, row.name, row.kind, row.steps, row.fed, row.cached, row.start_ns, row.duration_ns]


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
    sampling, and the times (ns) of prefill and of the decode (``None`` until known)."""
    return {
        "prompt": str(meta.get("prompt", "")),
        "prompt_ids": list(meta.get("prompt_ids") or []),
        "levels": level_names(meta),
        "meta": {
            "stack": str(meta.get("stack_resolved") or meta.get("stack") or ""),
            "sampling": dict(meta.get("sampling") or {}),
            "prefill_ns": meta.get("prefill_ns"),
            "wall_ns": meta.get("wall_ns"),
        },
    }
