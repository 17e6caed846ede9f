"""Test the measured speed-up over plain decoding: which pairs are timed, and what is recorded."""

from __future__ import annotations

import pytest

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine.beside_plain import decode_beside_plain, note_plain
from hsd_viz.trace import Finished, Trace
from tests.changes import plain_trace


def test_the_speed_ups_of_pairs_are_each_of_its_own_plain_run():
    # 10 tokens/s beside 5, then 20 beside 2.5.
    trace = plain_trace(20, 2.0)
    note_plain(trace, plain_trace(10, 2.0))
    assert trace.meta["plain"]["tokens_per_second"] == pytest.approx(5.0)
    assert "speedups" not in trace.meta["plain"]
    note_plain(trace, plain_trace(10, 4.0), again=plain_trace(20, 1.0))
    assert trace.meta["plain"]["speedups"] == pytest.approx([2.0, 8.0])
    assert trace.meta["plain"]["tokens"] == 10


class Timed:
    """An engine whose decodes take fixed times in seconds, and that records the arguments of its
    calls.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.asked: list[tuple[str, int]] = []

    def events(self, prompt, stack, options):
        self.asked.append((str(stack), options.max_new_tokens))
        wall = round(self.seconds * 1e9)
        yield Finished(Trace({"stack": str(stack), "prefill_ns": 0, "wall_ns": wall}))


@pytest.mark.parametrize(
    ("seconds", "pairs"),
    [
        pytest.param(0.1, 5, id="at most five"),
        # 3 s of pairs of 1.5 s after the first one.
        pytest.param(0.75, 3, id="as many as fit into three seconds"),
        pytest.param(2.0, 1, id="one that takes longer"),
    ],
)
def test_pairs_are_timed_for_about_three_seconds(seconds, pairs):
    engine = Timed(seconds)
    list(decode_beside_plain(engine, "x", "db > target", DecodingOptions(max_new_tokens=99)))
    assert engine.asked == [("db > target", 99), ("target", 99)] * pairs


def test_a_long_run_is_compared_with_a_short_plain_one():
    engine = Timed(3.5)
    options = DecodingOptions(max_new_tokens=99)
    list(decode_beside_plain(engine, "x", "db > target", options, least=32))
    assert engine.asked == [("db > target", 99), ("target", 32)]
