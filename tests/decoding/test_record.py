"""Steps are made when somebody looks at them: whoever does, in whatever order, sees what one sees who looks at each at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hsd_viz.decoding.loop import decode
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.text import TokenText
from hsd_viz.ladder.load import load_tokenizer
from hsd_viz.trace import Finished, Step
from hsd_viz.trace.tables import TABLES

sys.path.insert(0, str(Path(__file__).parents[1] / "lossless"))

from toys import Guesser, loop_of, models

TOKENS = 60
#: What is the same in two runs: all but times.
TIMES = {"start_ns", "duration_ns"}


def events(temperature: float = 0.0):
    loop = loop_of(models(3), [2, 4], Sampling(temperature, seed=2), TOKENS, Guesser(models(3)[0]))
    return list(decode(loop, TokenText(load_tokenizer()), {"stack": "", "prompt": "", "max_new_tokens": TOKENS}))


def content(step: Step):
    timeless = [
        [tuple(v for f, v in zip(row._fields, row, strict=True) if f not in TIMES) for row in rows]
        for rows in rows_of(step)
    ]
    return timeless, step.pieces


def rows_of(step: Step):
    return [step.token_rows, step.draft_rows, step.round_rows, step.call_rows]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_steps_looked_at_in_any_order_are_the_same(temperature):
    runs = [[e for e in events(temperature) if isinstance(e, Step)] for _ in range(2)]
    forth, back = [content(s) for s in runs[0]], [content(s) for s in reversed(runs[1])][::-1]
    assert forth == back
    assert all({d.token_id for d in s.draft_rows} | {*s.token_ids} <= s.pieces.keys() for s in runs[0])


def test_the_trace_has_the_rows_of_the_steps():
    found = events()
    steps = [e for e in found if isinstance(e, Step)]
    assert isinstance(found[-1], Finished)
    trace = found[-1].trace
    for table in TABLES:
        assert trace.rows(table) == tuple(row for step in steps for row in step.rows(table)) and trace.rows(table)
    assert len(trace) == TOKENS
    assert [t.index for t in trace.token_rows] == list(range(TOKENS))


@pytest.mark.parametrize(("positions", "reason"), [(None, "length"), (9, "length"), (8, "context")])
def test_the_stop_reason_at_the_border_of_length_and_context(positions, reason):
    """The prompt has one token and eight are asked for: a context of nine is reached with the last of them."""
    loop = loop_of(models(2), [3], Sampling(1.0, seed=1), 8, positions=positions)
    meta = {"stack": "", "prompt": "", "max_new_tokens": 8}
    trace = list(decode(loop, TokenText(load_tokenizer()), meta))[-1].trace
    assert trace.meta["stop_reason"] == reason and len(trace) == (8 if reason == "length" else 7)
