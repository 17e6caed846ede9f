"""Simulated overlap of look-ups with verifications, by hand and on a recorded run."""

from __future__ import annotations

import itertools

import pytest

import hsd_viz as hsd
from hsd_viz.figures.overlap import overlap
from hsd_viz.trace import CallRow, RoundRow, TokenRow, Trace

VERIFY, LOOKUP, UPDATE = 1_000, 100, 50


def run(own: list[int]) -> Trace:
    """Rounds without drafts after the prompt 1 2 1 3 1: each emits one of ``own``."""
    meta = {"stack": "db > target", "prompt": "", "prompt_ids": [1, 2, 1, 3, 1], "prefill_ns": 0}
    trace, now = Trace(meta), 0
    for k, token in enumerate(own):
        begin = now
        for level, kind, ns in ((0, "lookup", LOOKUP), (1, "verify", VERIFY), (0, "update", UPDATE)):
            trace.call_rows.append(CallRow(k, level, ("db", "target")[level], kind, 1, 1, 0, now, ns))
            now += ns
        trace.round_rows.append(RoundRow(k, None, 1, 0, 0, 0, "plain", "no match", begin, now - begin))
        trace.token_rows.append(TokenRow(k, token, str(token), None, k, "plain", "target", (1,), 0))
    trace.meta["wall_ns"] = now
    return trace


def test_a_look_up_is_hidden_where_the_context_knows_the_token():
    # After 1 came 2 and 3; after 3 came 1; 9 is new; nothing followed 9.
    found = overlap(run([3, 1, 9, 4, 5]))
    assert (found.rounds, found.foreseen) == (5, 2)
    whole, hidden = 5 * (VERIFY + LOOKUP + UPDATE), 2 * LOOKUP
    assert found.trace.meta["wall_ns"] == whole - hidden and found.gain == pytest.approx(whole / (whole - hidden) - 1)
    hidden_calls = [c for c in found.trace.call_rows if c.kind == "lookup" and c.round in (1, 2)]
    verified = {c.round: c for c in found.trace.call_rows if c.kind == "verify"}
    assert [c.start_ns for c in hidden_calls] == [verified[0].start_ns, verified[1].start_ns]
    others = sorted((c for c in found.trace.call_rows if c not in hidden_calls), key=lambda c: c.start_ns)
    assert all(a.start_ns + a.duration_ns == b.start_ns for a, b in itertools.pairwise(others))


def test_another_device_and_the_room_for_guesses():
    trace = run([2, 1, 9])
    # 3 is the latest token after 1, and 2 the next guess: with room for one look-up, it is not made.
    assert overlap(trace).foreseen == 2
    assert overlap(trace, guesses=1).foreseen < 2
    slow = overlap(trace, forward_ms=0.001, lookup_us=1.0)
    assert slow.foreseen < 2 and slow.trace.call_rows[0].duration_ns == 1_000
    assert overlap(trace, forward_ms=1.0).gain < overlap(trace).gain


def test_a_recorded_run():
    trace = hsd.load_bundled("databases")
    found = overlap(trace)
    assert found.trace.token_ids == trace.token_ids and found.trace.meta["simulated"]
    assert 0 < found.foreseen < found.rounds and 0 < found.gain < 0.2
    hsd.views.Timeline(found.trace)
    gpu = overlap(trace, forward_ms=0.4, lookup_us=40)
    assert gpu.gain != found.gain


def test_other_runs_are_refused():
    with pytest.raises(ValueError, match="no look-ups directly below the target"):
        overlap(Trace({"prompt_ids": []}))
    with pytest.raises(ValueError, match="out of range"):
        overlap(run([2]), forward_ms=-1)
