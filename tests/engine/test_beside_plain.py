"""A run compared with plain decoding on the same engine."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hsd_viz.engine.live import REPORT_EVERY, decode_beside_plain
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
    assert [t for e in events if isinstance(e, Step) for t in e.token_ids] == trace.token_ids
    assert after and all(isinstance(e, Stage) for e in after), "the second decode shows no text"
    done = [e.done for e in after]
    assert {e.total for e in after} == {40} and done == sorted(done)
    assert all(b // REPORT_EVERY > a // REPORT_EVERY for a, b in pairwise(done))
    assert trace.meta["plain"]["tokens"] == 40 and trace.meta["plain"]["tokens_per_second"] > 0


def test_plain_decoding_itself_is_decoded_once(engine):
    events = list(decode_beside_plain(engine, PROMPT, "target", max_new_tokens=8))
    assert isinstance(events[-1], Finished) and "plain" not in events[-1].trace.meta


def test_cancelling_the_comparison_keeps_the_run(engine):
    events = decode_beside_plain(engine, PROMPT, "db > target", max_new_tokens=40)
    trace = next(e.trace for e in events if isinstance(e, Finished))
    assert isinstance(next(events), Stage)
    events.close()
    assert len(trace) == 40 and not trace.meta["cancelled"] and "plain" not in trace.meta
