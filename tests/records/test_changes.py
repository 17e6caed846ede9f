"""Changes in time: where they are, and that noise has none."""

from __future__ import annotations

from random import Random

import pytest

from hsd_viz.records.changes import changes, trend
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series


def series(rates, drafted=300, speeds=None):
    """Return intervals of ``drafted`` draft tokens each."""
    samples = []
    for k, rate in enumerate(rates):
        samples.append(
            Sample(
                line=k + 1,
                clock=f"09:{k:02d}:00",
                drafted=drafted,
                accepted=round(rate * drafted),
                speed=None if speeds is None else speeds[k],
                running=None if speeds is None else 2,
            )
        )
    return Series("vllm", "1", "form", tuple(samples))


def test_a_collapse_is_found_where_it_is():
    (change,) = changes(series([0.6] * 20 + [0.0] * 20))
    assert change.figure == "acceptance"
    assert change.number == 21
    assert change.line == 21
    assert change.clock == "09:20:00"
    assert change.before == pytest.approx(0.6)
    assert change.after == 0.0
    assert change.words == (
        "acceptance fell from 60.0% to 0.0% at record 21 of 40, line 21 (09:20:00)"
    )


def test_a_fall_and_a_rise_are_two_changes_in_order():
    listed = changes(series([0.6] * 10 + [0.2] * 10 + [0.6] * 10))
    fall, rise = listed
    assert (fall.number, fall.before < fall.after) == (11, False)
    assert (rise.number, rise.before < rise.after) == (21, True)


def test_speed_is_that_of_one_request():
    (change,) = changes(series([0.6] * 20, speeds=[140.0] * 10 + [60.0] * 10))
    assert change.figure == "speed"
    assert change.before == 70.0
    assert change.after == 30.0


@pytest.mark.parametrize("seed", range(40))
def test_noise_is_no_change(seed):
    """Intervals of 8 and of 100 draft tokens, each accepted with 0.6."""
    draw = Random(seed)
    for drafted in (8, 100):
        rates = []
        for _ in range(60):
            accepted = sum(draw.random() < 0.6 for _ in range(drafted))
            rates.append(accepted / drafted)
        assert changes(series(rates, drafted=drafted)) == []


def test_a_small_change_and_a_single_interval_are_none():
    assert changes(series([0.6] * 20 + [0.5] * 20)) == []
    assert changes(series([0.6] * 20 + [0.0])) == []
    (change,) = changes(series([0.6] * 20 + [0.0] * 2))
    assert change.number == 21
    assert change.after == 0.0


def test_a_trend_over_the_context_by_hand():
    """3 - 0.2 per doubling: at the 10 % quantile of 2^0 ... 2^10 it is 2.8, at the 90 % one 1.2."""
    contexts = [2.0**k for k in range(11)]
    near, far, errors = trend(contexts, [3 - 0.2 * k for k in range(11)])
    assert near == pytest.approx(2.8)
    assert far == pytest.approx(1.2)
    assert errors < -100
    assert trend([1024.0] * 20, [1.0] * 20) is None
    assert trend([1.0, 2.0], [1.0, 2.0]) is None
