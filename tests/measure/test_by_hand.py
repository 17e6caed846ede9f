"""Figures of doctor, replay and predict that a person acts on, each computed by hand."""

from __future__ import annotations

from collections import Counter
from math import exp, log

import numpy as np
import pytest

import hsd_viz as hsd
from hsd_viz.latency.cards import GPUS
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.shapes import MODELS
from hsd_viz.latency.speedup import bounded, repeated, repeats_to_decide, speed_up
from hsd_viz.measure.case import KnownFigures
from hsd_viz.measure.doctor import below
from hsd_viz.measure.observation import Observation
from hsd_viz.measure.observe import with_figures
from hsd_viz.measure.observe_records import from_series
from hsd_viz.measure.replay_tally import pays as whether_it_pays
from hsd_viz.measure.replay_tally import row_of
from hsd_viz.measure.stacks_on_hardware import STEP_ERROR
from hsd_viz.measure.verdict import diagnose
from hsd_viz.records.responses import request_of
from hsd_viz.records.sample import Sample, Verification
from hsd_viz.records.series import Series
from hsd_viz.records.traces import round_rows
from hsd_viz.results import Estimate

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


# --- the doctor


def test_a_speed_up_is_tokens_over_the_time_of_a_round():
    """(2 · 100 + 4 · 200) / 400 = 2.5 accepted: 3.5 tokens in (12 + 4 + 1) / 10 steps."""
    found = diagnose(SEEN)
    assert found.length.value == pytest.approx(3.5)
    assert found.speedup.value == pytest.approx(3.5 / 1.7)


def test_the_interval_of_times_measured_once_is_two_and_a_half_percent_on_each_side():
    """Every round accepts the same, so that the times alone have an error: exp(±1.96 · 0.025)."""
    found = diagnose(
        Observation("case", {(4, 2): 400}, step=10.0, verify=12.0, draft=4.0, overhead=1.0)
    )
    value = 3 / 1.7
    assert found.speedup.low == pytest.approx(value * exp(-1.959964 * 0.025))
    assert found.speedup.high == pytest.approx(value * exp(1.959964 * 0.025))


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
    one = next(option for option in diagnose(few).options if option.tokens == 1)
    found = diagnose(few)
    # 1 + 10/12 tokens in 1.6 steps, against 1 + 7/12 in 1.3.
    assert found.observed.speedup == pytest.approx((1 + 10 / 12) / 1.6)
    assert one.speedup == pytest.approx((1 + 7 / 12) / 1.3)
    assert one.speedup > 1.05 * found.observed.speedup
    assert found.advised == found.observed
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
    found = diagnose(seen)
    one = next(option for option in found.options if option.tokens == 1)
    assert one.speedup / found.observed.speedup == pytest.approx(1.0364, abs=1e-4)
    assert found.advised == found.observed


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
    found = diagnose(
        with_figures(seen, KnownFigures(step=10.0, verify=11.0, draft=1.0, overhead=0.0))
    )
    # log(3 / 1.8) of the loss is that of the missing drafts, log(1.2) that of the times.
    assert found.cause == "few drafts"
    assert found.shares["few drafts"] == pytest.approx(log(3 / 1.8) / log(3 / 1.8 * 1.2))


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
    found = diagnose(with_figures(seen, KnownFigures(plain_speed=40.0)))
    assert found.speedup.value == pytest.approx(70 / 40)
    assert "70.0 tokens/s per request at batch 2" in diagnose(seen).lines()[1]


def test_a_health_check_fails_below_its_bound_only():
    found = diagnose(SEEN)
    assert below(found, 2.0) == ""
    assert "below 2.2" in below(found, 2.2)
    bound = diagnose(Observation("case", {(4, 0): 90, (4, 1): 10}))
    assert "at most 1.10, below 1.2" in below(bound, 1.2)
    assert not below(bound, 1.05)


# --- the bound of all speed-ups


def test_a_speed_up_and_its_interval_are_at_most_the_tokens_per_pass():
    made = speed_up(2.0, log(1.5), 2.5)
    assert made.estimate.low == pytest.approx(2 / 1.5)
    assert made.estimate.value == 2.0
    assert made.estimate.high == 2.5
    assert not made.note
    above = bounded(Estimate(4.09, 0.77, 21.55), 2.67)
    assert (above.estimate.value, above.estimate.high) == (2.67, 2.67)
    assert "4.09 at 2.67 tokens per forward pass" in above.note


def test_two_repetitions_have_the_quantile_of_student():
    """log 2 and log 8: the mean is log 4; their deviation is log 4 / √2, over √2, times 12.706."""
    mean, half = repeated((2.0, 8.0))
    assert mean == pytest.approx(log(4))
    assert half == pytest.approx(12.706 * log(4) / 2, rel=1e-6)


def test_more_than_one_repetition_is_asked_for_where_two_hardly_agree():
    """Deviation log 4 / √2 = 0.98, distance log 4 = 1.386: 3 repetitions give 4.303 · 0.98 / √3 =
    2.43, 4 give 3.182 · 0.98 / 2 = 1.56, 5 give 2.776 · 0.98 / √5 = 1.22: three more.
    """
    assert repeats_to_decide((2.0, 8.0), 4.0) == 3


# --- replay


def test_a_round_costs_what_verifying_its_whole_draft_costs():
    """A draft of 3 of which 1 was accepted, and a round without: 3 tokens for c(3) + c(0)."""
    cost = np.array([1.0, 1.5, 2.0, 4.0])
    row = row_of("x", Counter({(0, 2, 3, 3, 1): 1, (0, 1, 0, 0, 0): 1}), cost)
    assert row["speedup"] == pytest.approx(3 / 5)
    assert (row["tokens"], row["rounds"], row["drafted"], row["accepted"]) == (3, 2, 3, 1)
    assert row["drafted_by_position"] == [1, 1, 1]
    assert row["accepted_by_position"] == [1, 0, 0]


@pytest.mark.parametrize(
    ("low", "high", "units", "pays"),
    [(1.1, 1.5, 9, "yes"), (0.9, 1.5, 9, "unclear"), (0.7, 1.0, 9, "no"), (1.1, 1.5, 3, "unclear")],
)
def test_a_drafter_pays_only_where_its_whole_interval_does(low, high, units, pays):
    assert whether_it_pays(Estimate(1.2, low, high, units)) == pays


# --- records


def test_the_context_of_llama_cpp_is_what_it_computed_and_what_it_had_cached():
    entry = {"timings": {"prompt_n": 40, "cache_n": 960}}
    request = request_of(entry)
    assert (request.context, request.cached) == (1000, 960)


def test_examined_tokens_of_a_verification_end_with_the_rejected_one():
    rows = round_rows(Sample(verifications=(Verification(4, 1), Verification(4, 4))))
    assert [row.examined for row in rows] == [2, 4]


# --- predict


def test_the_memory_of_models_and_caches_by_hand():
    """Llama 3.1 8B: 8.03 billion weights of 2 bytes, 131 072 bytes of cache per token."""
    machine = Machine(GPUS["H100 SXM"])
    shape = MODELS["llama-8b"]
    need = 2 * shape.parameters + 8 * 4096 * 131_072
    share = machine.memory_share((shape,), batch=8, context=4096)
    assert share == pytest.approx(need / (0.9 * 80e9))
    assert need > 20e9
    halved = Machine(machine.gpu, 2).memory_share((shape,), batch=8, context=4096)
    assert halved == pytest.approx(share / 2)


def test_a_window_caches_no_more_than_itself():
    """Gemma 3 27B at 131 072 tokens: 10 layers cache all, 52 layers 1 024 tokens, 8 192 bytes
    each.
    """
    shape = MODELS["gemma-3-27b"]
    per_layer = 2 * 16 * 128 * 2
    assert 2 * shape.cached(131_072) == per_layer * (10 * 131_072 + 52 * 1024)
    assert 11e9 < 2 * shape.cached(131_072) < 12e9


def test_the_interval_of_a_speed_is_that_of_step_times_where_nothing_is_drafted():
    found = hsd.predict("H100", ("llama-8b",), databases=False)
    (row,) = found.rows
    low, high = row.tokens_per_second_ci
    assert low == pytest.approx(row.tokens_per_second / (1 + STEP_ERROR))
    assert high == pytest.approx(row.tokens_per_second * (1 + STEP_ERROR))
    assert STEP_ERROR == 0.18


def test_a_draft_pays_only_at_batches_that_fit():
    """24 GB hold Llama 3.1 8B in bf16 with few caches of 2 048 tokens."""
    found = hsd.predict("RTX 4090", ("llama-8b", "eagle3"), databases=False)
    most = found.most_batch["eagle3"]
    assert 1 < most < 64
    assert f"pays up to batch {most}, the largest that fits" in found.answers()[0]
