"""A trace as the browser gets it: plain JSON, rows as short lists in a fixed order (the order is stated in static/linked_run.js)."""

from __future__ import annotations

from typing import Any

from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace


def number(value: float | None) -> float | None:
    """Six significant digits are plenty to look at and keep the message short."""
    return None if value is None else float(f"{value:.6g}")


def _top(top: Any) -> list | None:
    return None if top is None else [[int(token), number(p)] for token, p in top]


def token(row: TokenRow) -> list:
    """One emitted token."""
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
    """One token put before a verifier."""
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
    """One round."""
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
    """One forward, launch or look-up."""
    return [row.round, row.level, row.name, row.kind, row.steps, row.fed, row.cached, row.start_ns, row.duration_ns]


def pieces(table: dict[int, str]) -> dict[str, str]:
    """Token texts by id, as JSON wants its keys."""
    return {str(k): v for k, v in table.items()}


def step(rows: Step) -> dict[str, Any]:
    """What one target round adds, or several."""
    return {
        "tokens": [token(t) for t in rows.tokens],
        "drafts": [draft(d) for d in rows.drafts],
        "rounds": [verification(r) for r in rows.rounds],
        "calls": [call(c) for c in rows.calls],
        "pieces": pieces(rows.pieces),
    }


def snapshot(trace: Trace) -> dict[str, Any]:
    """All of a trace: what a page that was opened late, or reloaded, needs to show everything."""
    return {
        **head(trace.meta),
        **step(Step(trace.token_rows, trace.draft_rows, trace.round_rows, trace.call_rows, trace.pieces)),
    }


def head(meta: dict[str, Any]) -> dict[str, Any]:
    """The part of a trace's meta that views show: the prompt, its token ids where they are known, the levels' names, and under ``meta``
    the stack, how tokens were drawn, and the times (ns) of prefill and of the whole decode, ``None`` until they are known."""
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


def level_names(meta: dict[str, Any]) -> list[str]:
    """What stands at each level of the stack, bottom first; empty where the meta names no readable stack."""
    from hsd_viz.stack import StackError, parse

    try:
        parts = parse(str(meta.get("stack_resolved") or meta.get("stack", ""))).parts
    except StackError:
        return []
    # `auto`, resolved, names its levels in their order.
    return [name for part in parts for name in (part.items if part.name == "auto" else (part.name,))]
