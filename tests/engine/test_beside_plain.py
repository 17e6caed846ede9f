"""A run compared with plain decoding on the same engine."""

from __future__ import annotations

import pytest

from hsd_viz.engine import REPORT_EVERY, decode_beside_plain
from hsd_viz.engine.local import load_engine
from hsd_viz.trace import Finished, Stage, Step

PROMPT = "def main("


@pytest.fixture(scope="module")
def engine():
    return load_engine(device="cpu", dtype="float32", threads=1)


def test_plain_decoding_follows_the_run_and_its_speed_is_noted(engine):
    events = list(decode_beside_plain(engine, PROMPT, "db > target", pairs=1, max_new_tokens=40, seed=3))
    (end,) = [i for i, e in enumerate(events) if isinstance(e, Finished)]
    trace, after = events[end].trace, events[end + 1 :]
    assert [t.token_id for e in events if isinstance(e, Step) for t in e.tokens] == [
        t.token_id for t in trace.token_rows
    ]
    assert after and all(isinstance(e, Stage) for e in after), "the second decode shows no text"
    assert [(e.done, e.total) for e in after] == [(1, 40), (REPORT_EVERY, 40), (2 * REPORT_EVERY, 40)]
    assert trace.meta["plain"]["tokens"] == 40 and trace.meta["plain"]["tokens_per_second"] > 0


def test_plain_decoding_itself_is_decoded_once(engine):
    events = list(decode_beside_plain(engine, PROMPT, "target", max_new_tokens=8))
    assert isinstance(events[-1], Finished) and "plain" not in events[-1].trace.meta


def test_a_cancelled_run_is_not_compared(engine):
    events = decode_beside_plain(engine, PROMPT, "db > target", max_new_tokens=40)
    trace = next(e for e in events if isinstance(e, Step))
    events.close()
    assert trace is not None and list(events) == []


def test_cancelling_the_comparison_keeps_the_run(engine):
    events = decode_beside_plain(engine, PROMPT, "db > target", max_new_tokens=40)
    trace = next(e.trace for e in events if isinstance(e, Finished))
    assert isinstance(next(events), Stage)
    events.close()
    assert len(trace.token_rows) == 40 and not trace.meta["cancelled"] and "plain" not in trace.meta
