"""Test that the steps of a decode do not depend on when, or in which order, they are read."""

from __future__ import annotations

from itertools import chain

import pytest

from hsd_viz.decoding.event_stream import decode
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.text import TokenText
from hsd_viz.ladder.torch_modules import load_tokenizer
from hsd_viz.trace import Step
from hsd_viz.trace.tables import TABLES
from tests.lossless.toys import Guesser, loop_of, models
from tests.rows import column

TOKENS = 60
#: What is the same in two runs: all but times.
TIMES = {"start_ns", "duration_ns"}


def events(temperature: float = 0.0):
    loop = loop_of(
        models(3), [2, 4], Sampling(temperature=temperature, seed=2), TOKENS, Guesser(models(3)[0])
    )
    return list(
        decode(
            loop, TokenText(load_tokenizer()), {"stack": "", "prompt": "", "max_new_tokens": TOKENS}
        )
    )


def is_step(event):
    return isinstance(event, Step)


def content(step: Step):
    columns = {}
    for table in TABLES:
        for name in TABLES[table].columns:
            if name not in TIMES:
                columns[table, name] = step.columns[table][name]
    return columns, step.pieces


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_steps_looked_at_in_any_order_are_the_same_and_the_trace_has_their_rows(temperature):
    runs = [events(temperature) for _ in range(2)]
    forth, back = (list(filter(is_step, run)) for run in runs)
    trace = runs[0][-1].trace
    assert list(map(content, forth)) == list(map(content, reversed(back)))[::-1]
    for s in forth:
        assert {*s.columns["drafts"]["token_id"]} | {*s.token_ids} <= s.pieces.keys()
    for table in TABLES:
        rows = chain(*(step.rows(table) for step in forth))
        assert trace.rows(table) == tuple(rows)
        assert trace.rows(table)
    assert column(trace.token_rows, "index") == list(range(TOKENS))


@pytest.mark.parametrize(("positions", "reason"), [(None, "length"), (9, "length"), (8, "context")])
def test_the_stop_reason_at_the_border_of_length_and_context(positions, reason):
    """The prompt has one token and the decode emits eight, the last of which fills a context of
    nine.
    """
    loop = loop_of(models(2), [3], Sampling(temperature=1.0, seed=1), 8, positions=positions)
    meta = {"stack": "", "prompt": "", "max_new_tokens": 8}
    trace = list(decode(loop, TokenText(load_tokenizer()), meta))[-1].trace
    assert trace.meta["stop_reason"] == reason
    assert len(trace) == (8 if reason == "length" else 7)
