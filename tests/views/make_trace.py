"""A small trace written by hand: a stack of two verifiers, every kind of token, text that no
page may trip over.
"""

from __future__ import annotations

from copy import deepcopy

from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace

PIECES = {1: "def", 2: " f", 3: "<script>", 4: "\\xe2\\x9c", 5: "\n    ", 6: "x"}
META = {
    "stack": "db > nano > target",
    "stack_resolved": "db > nano:4 > target",
    "prompt": "def f",
    "prompt_ids": [1, 2],
    "device": "cpu",
    "device_name": "A processor",
    "dtype": "float32",
    "threads": 1,
    "sampling": {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "seed": 7},
    "max_new_tokens": 4,
    "created": "2026-01-02T03:04:05+00:00",
    "prefill_ns": 1_000_000,
    "wall_ns": 21_000_000,
    "cancelled": False,
}

STEPS = [
    Step().add_rows(
        tokens=[
            TokenRow(
                0,
                3,
                "<script>",
                None,
                1,
                "accepted",
                "context",
                [0, 1, 2],
                1,
                0.75,
                0.4,
                [[3, 0.75], [6, 0.25]],
            ),
            TokenRow(
                index=1,
                token_id=4,
                text="\\xe2\\x9c",
                raw="e29c",
                round=1,
                kind="correction",
                source="target",
                path=[2],
                depth=0,
                p=0.5,
                entropy=1.0,
                top=[[4, 0.5]],
                residual_top=[[4, 1.0]],
                q_top=[[6, 0.9]],
            ),
        ],
        drafts=[
            DraftRow(
                0, 1, "context", 0, -1, 1, 3, "<script>", 0.6, 1.0, None, "accepted", 3, 2, 0.8, 1
            ),
            DraftRow(
                1, 2, "context", 0, -1, 1, 3, "<script>", 0.75, 0.6, 0.1, "accepted", 3, 2, 0.8, 1
            ),
            DraftRow(1, 2, "nano", 1, 0, 2, 6, "x", 0.123456789, 0.9, 0.7, "rejected"),
        ],
        rounds=[
            RoundRow(0, 1, 1, 1, 1, 1, "bonus", None, 1_000_000, 2_000_000),
            RoundRow(1, None, 2, 2, 2, 1, "correction", None, 1_000_000, 10_000_000),
        ],
        calls=[
            CallRow(-1, 2, "target", "prefill", 1, 1, 0, 0, 900_000),
            CallRow(1, 2, "target", "verify", 1, 3, 1, 4_000_000, 6_000_000),
        ],
        pieces=dict(PIECES),
    ),
    Step().add_rows(
        tokens=[TokenRow(2, 5, "\n    ", None, 2, "plain", "target", [2], 0)],
        drafts=[],
        rounds=[RoundRow(2, None, 2, 0, 0, 0, "plain", "no match", 11_000_000, 5_000_000)],
        calls=[CallRow(2, 2, "target", "verify", 1, 1, 4, 12_000_000, 4_000_000)],
        pieces={},
    ),
]


def make_trace(**changes) -> Trace:
    """The trace; ``changes`` go into its meta."""
    # A test may change what is within.
    trace = Trace({**deepcopy(META), **changes})
    for step in STEPS:
        trace.append(step)
    return trace
