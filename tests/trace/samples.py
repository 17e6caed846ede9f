"""Provide a small handwritten trace, whose figures can be computed by hand."""

from __future__ import annotations

from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace


def sample_trace() -> Trace:
    """Return a trace of two target rounds over a database, with one of three and the only draft
    token accepted.
    """
    trace = Trace(
        {
            "stack": "db > target",
            "prefill_ns": 500,
            "wall_ns": 4_500,
            "prompt": "x",
            "prompt_ids": [9],
        }
    )
    first = Step().add_rows(
        tokens=[
            TokenRow(
                0,
                1,
                "def",
                None,
                0,
                "accepted",
                "context",
                [0, 1],
                1,
                0.9,
                0.3,
                [[1, 0.9], [2, 0.1]],
            ),
            TokenRow(
                index=1,
                token_id=2,
                text="\\xe2\\x9c",
                raw="e29c",
                round=0,
                kind="correction",
                source="target",
                path=[1],
                depth=0,
                p=0.5,
                entropy=0.7,
                top=[[2, 0.5]],
                residual_top=[[2, 1.0]],
                residual_sum=0.5,
            ),
        ],
        drafts=[
            DraftRow(0, 1, "context", 0, -1, 1, 1, "def", 1.0, 1.0, None, "accepted", 3, 2, 0.8, 0),
            DraftRow(0, 1, "context", 1, 0, 2, 5, "x", 0.0, 1.0, None, "rejected", 3, 2, 0.6, 1),
            DraftRow(
                0, 1, "statistics", 2, 1, 3, 6, "y", None, 1.0, None, "unreached", 2, 7, 0.3, None
            ),
        ],
        rounds=[RoundRow(0, None, 1, 3, 2, 1, "correction", None, 600, 1_200)],
        calls=[
            CallRow(0, 0, "db", "lookup", 1, 3, 0, 600, 100),
            CallRow(0, 1, "target", "verify", 1, 4, 1, 700, 1_000),
        ],
        pieces={1: "def", 2: "\\xe2\\x9c", 5: "x", 6: "y", 9: "x"},
    )
    second = Step().add_rows(
        tokens=[
            TokenRow(2, 3, "\\x93", "93", 1, "accepted", "statistics", [0, 1], 1),
            TokenRow(3, 4, " <b>", None, 1, "bonus", "target", [1], 0),
        ],
        drafts=[
            DraftRow(
                1,
                1,
                "statistics",
                0,
                -1,
                1,
                3,
                "\\x93",
                1.0,
                1.0,
                None,
                "accepted",
                1,
                4,
                0.5,
                None,
            )
        ],
        rounds=[RoundRow(1, None, 1, 1, 1, 1, "bonus", None, 2_000, 800)],
        calls=[
            CallRow(1, 0, "db", "lookup", 1, 1, 0, 2_000, 100),
            CallRow(1, 1, "target", "verify", 1, 2, 3, 2_100, 600),
        ],
        pieces={3: "\\x93", 4: " <b>"},
    )
    for step in (first, second):
        trace.append(step)
    return trace


def drafted(number, level, source, node, parent, depth, token, text, verdict):
    """Return a row of the table of drafts, without its random numbers."""
    return DraftRow(
        number, level, source, node, parent, depth, token, text, None, None, None, verdict
    )


def hierarchy_trace() -> Trace:
    """Return a trace of a target's round over two rounds of a model above a database, with times in
    steps of 20 us.
    """
    trace = Trace({"stack": "db > m:2 > target", "prefill_ns": 1_000, "wall_ns": 21_000})
    trace.add_rows(
        tokens=[
            TokenRow(0, 1, "a", None, 0, "accepted", "context", [0, 1, 2], 1),
            TokenRow(1, 2, "b", None, 0, "correction", "target", [2], 0),
        ],
        drafts=[
            drafted(0, 2, "context", 0, -1, 1, 1, "a", "accepted"),
            drafted(0, 2, "m", 1, 0, 2, 5, "x", "rejected"),
            drafted(1, 1, "context", 0, -1, 1, 1, "a", "accepted"),
            drafted(2, 1, "context", 0, -1, 1, 7, "y", "rejected"),
        ],
        rounds=[
            RoundRow(0, None, 2, 2, 2, 1, "correction", None, 2_000, 15_000),
            RoundRow(1, 0, 1, 1, 1, 1, "bonus", None, 3_000, 4_000),
            RoundRow(2, 0, 1, 1, 1, 0, "correction", None, 8_000, 4_000),
        ],
        calls=[
            CallRow(-1, 2, "target", "prefill", 1, 9, 0, 0, 900),
            CallRow(1, 0, "db", "lookup", 1, 1, 0, 3_000, 100),
            CallRow(1, 1, "m", "verify", 1, 2, 9, 3_200, 1_000),
            CallRow(2, 0, "db", "lookup", 1, 1, 0, 8_000, 200),
            CallRow(2, 1, "m", "verify", 1, 3, 10, 8_300, 3_000),
            CallRow(0, 2, "target", "verify", 1, 3, 9, 13_000, 2_500),
            CallRow(0, 0, "db", "update", 1, 2, 0, 16_000, 300),
        ],
    )
    return trace
