"""Figures of the doctor that a person acts on, each computed by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import exp, log

import pytest

from hsd_viz.measure.doctor.api import below
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe import with_figures
from hsd_viz.measure.doctor.observe_records import from_series
from hsd_viz.measure.doctor.options import Known
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series
from hsd_viz.results.estimate import Estimate
from tests.rows import find

SEEN = Observation(
    "case",
    Counter({(4, 0): 100, (4, 2): 100, (4, 4): 200}),
    step=10.0,
    verify=12.0,
    draft=4.0,
    overhead=1.0,
)


def series(*samples, single=False):
    return Series("vllm", "1", "form", samples, single)


def test_a_speed_up_is_tokens_over_the_time_of_a_round():
    """(2 · 100 + 4 · 200) / 400 = 2.5 accepted: 3.5 tokens in (12 + 4 + 1) / 10 steps."""
    diagnosis = diagnose(SEEN)
    assert diagnosis.length.value == pytest.approx(3.5)
    assert diagnosis.speedup.value == pytest.approx(3.5 / 1.7)


def test_the_interval_of_times_measured_once_is_two_and_a_half_percent_on_each_side():
    """Every round accepts the same, so that the times alone have an error: exp(±1.96 · 0.025)."""
    diagnosis = diagnose(
        Observation("case", {(4, 2): 400}, step=10.0, verify=12.0, draft=4.0, overhead=1.0)
    )
    value = 3 / 1.7
    assert diagnosis.speedup.low == pytest.approx(value * exp(-1.959964 * 0.025))
    assert diagnosis.speedup.high == pytest.approx(value * exp(1.959964 * 0.025))


def test_a_better_length_is_not_advised_on_few_rounds():
    """1 token is 9 % faster in 12 rounds, and not in 95 % of their resamples."""
    few = Observation(
        "case",
        Counter({(2, 0): 5, (2, 1): 4, (2, 2): 3}),
        step=10.0,
        verify=10.0,
        draft=6.0,
        overhead=0.0,
    )
    one = find(diagnose(few).options, tokens=1)
    diagnosis = diagnose(few)
    # 1 + 10/12 tokens in 1.6 steps, against 1 + 7/12 in 1.3.
    assert diagnosis.observed.speedup == pytest.approx((1 + 10 / 12) / 1.6)
    assert one.speedup == pytest.approx((1 + 7 / 12) / 1.3)
    assert one.speedup > 1.05 * diagnosis.observed.speedup
    assert diagnosis.advised == diagnosis.observed
    many = Observation(
        "case",
        Counter({kind: 200 * n for kind, n in few.rounds.items()}),
        step=10.0,
        verify=10.0,
        draft=6.0,
        overhead=0.0,
    )
    assert diagnose(many).advised.tokens == 1


def test_a_certain_gain_of_less_than_a_twentieth_is_not_advised():
    """1 + 7/12 tokens in 1.25 steps against 1 + 10/12 in 1.5: 3.6 % faster, in 2 400 rounds."""
    seen = Observation(
        "case",
        Counter({(2, 0): 1000, (2, 1): 800, (2, 2): 600}),
        step=10.0,
        verify=10.0,
        draft=5.0,
        overhead=0.0,
    )
    diagnosis = diagnose(seen)
    one = find(diagnosis.options, tokens=1)
    assert one.speedup / diagnosis.observed.speedup == pytest.approx(1.0364, abs=1e-4)
    assert diagnosis.advised == diagnosis.observed


def test_rounds_without_a_draft_are_no_rejections():
    """400 drafts of 2 of which all are accepted, and 600 passes without: 1 + 0.4 · 2 tokens."""
    sample = Sample(
        drafts=400, drafted=800, accepted=800, by_position=(400, 400), reached=(400, 400),
        tokens=1800, passes=1000,
    )  # fmt: skip
    seen = from_series(series(sample), "x")
    assert seen.length == pytest.approx(1.8)
    assert seen.without_draft == pytest.approx(0.6)
    assert seen.rates_by_position() == [1.0, 1.0]
    diagnosis = diagnose(
        with_figures(seen, Known(step_ms=10.0, verify_ms=11.0, draft_ms=1.0, overhead_ms=0.0))
    )
    # log(3 / 1.8) of the loss is that of the missing drafts, log(1.2) that of the times.
    assert diagnosis.cause == "few drafts"
    assert diagnosis.shares["few drafts"] == pytest.approx(log(3 / 1.8) / log(3 / 1.8 * 1.2))


def test_unknown_verifications_give_tokens_per_pass_alone():
    """300 tokens, 154 of 156 accepted: 145 passes after the prefill emit 1 + 154 / 145 tokens."""
    sample = Sample(drafted=156, accepted=154, tokens=300, passes=146, seconds=9.0)
    seen = from_series(series(sample, single=True), "x")
    assert seen.length == pytest.approx(1 + 154 / 145)
    assert seen.drafted == pytest.approx(156 / 145)
    assert not seen.rates_by_position()
    assert not diagnose(seen).flags


def test_the_speed_and_the_batch_of_a_log_are_used():
    """140 tokens/s of 2 requests: 70 each; a round of 2.8 tokens takes 40 ms."""
    sample = Sample(
        drafts=500, drafted=1500, accepted=900, by_position=(400, 300, 200),
        reached=(500, 500, 500), speed=140.0, running=2,
    )  # fmt: skip
    seen = from_series(series(sample), "x")
    assert seen.batch == 2
    assert seen.round == pytest.approx(40.0)
    diagnosis = diagnose(with_figures(seen, Known(plain_speed=40.0)))
    assert diagnosis.speedup.value == pytest.approx(70 / 40)
    assert "70.0 tokens/s per request at batch 2" in diagnose(seen).lines()[1]


def test_a_health_check_passes_where_the_interval_holds_its_bound():
    undecided = replace(diagnose(SEEN), speedup=Estimate(0.99, 0.90, 1.10))
    assert below(undecided, 1.0) == ""
    assert below(undecided, 1.2) == "the speed-up is 0.99 [0.90, 1.10], below 1.2"
    assert below(replace(undecided, speedup=Estimate(0.99)), 1.0) != ""


def test_a_health_check_fails_below_its_bound_only():
    diagnosis = diagnose(SEEN)
    assert below(diagnosis, 2.0) == ""
    assert "below 2.3" in below(diagnosis, 2.3)
    bound = diagnose(Observation("case", {(4, 0): 90, (4, 1): 10}))
    assert "at most 1.10, below 1.2" in below(bound, 1.2)
    assert not below(bound, 1.05)
