"""Verdicts: known cases get theirs, unknown costs stay unknown, noise does not decide."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import log
from pathlib import Path

import pytest

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe import from_figures, with_figures
from hsd_viz.measure.doctor.options import Known
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.measure.predict.api import predict
from tests.measure.doctor.observations import (
    HEALTHY,
    MORE_SICK,
    MORE_WELL,
    SICK,
    WELL,
    rounds,
)
from tests.rows import column, select


def test_the_time_of_a_round_beyond_its_passes_is_printed_as_predict_takes_it():
    """In ms per round, whatever a step takes: 0.2 of the healthy run are 200 µs."""
    shares = diagnose(HEALTHY).tables()[0]
    printed = {row[0]: row[-1] for row in shares.rows[1:]}
    assert shares.rows[0][-1] == "ms per round"
    assert printed == {
        "rejected drafts": "-",
        "drafting": "1.00",
        "verification": "0.80",
        "overhead": "0.20",
    }
    models = ("llama-8b", "llama-1b")
    round_ms = float(printed["overhead"])
    used = predict("H100", models, acceptance=0.8, databases=False, round_ms=round_ms)
    (assumed,) = select(used.assumptions, name="further time of a round")
    assert assumed.value == "200 µs"
    assert assumed.kind == "measured"


@pytest.mark.parametrize("cause", SICK)
def test_a_case_that_fails_in_a_known_way_gets_its_verdict(cause):
    diagnosis = diagnose(SICK[cause])
    assert diagnosis.cause == cause
    assert diagnosis.shares[cause] > 0.5
    assert sum(diagnosis.shares.values()) == pytest.approx(1)
    assert diagnosis.verdict.startswith("speculation loses")
    assert diagnosis.speedup.interval[1] < 1
    # What is advised is better than what was observed, by the same figures.
    assert diagnosis.advised != diagnosis.observed
    assert diagnosis.advised.speedup > diagnosis.observed.speedup
    same = select(diagnosis.options, method=diagnosis.advised.method)
    assert diagnosis.advised == max(same, key=lambda option: option.speedup)


@pytest.mark.parametrize("name", WELL)
def test_what_works_is_said_to_work_and_is_kept_at_its_speed(name):
    seen = WELL[name]
    diagnosis = diagnose(seen)
    assert diagnosis.verdict.startswith("speculation pays")
    assert diagnosis.speedup.interval[0] > 1
    assert (
        diagnosis.observed.speedup
        == diagnosis.speedup.value
        == pytest.approx(seen.length * 10 / (seen.whole() * 10))
    )
    assert diagnosis.observed in diagnosis.options
    assert diagnosis.advised.method == seen.method
    assert diagnosis.advised.tokens
    assert diagnosis.advised.speedup >= diagnosis.observed.speedup


def words_of(records):
    """Return the lines of each record but those of its file, as the table has them."""
    words = {}
    for name, seen in records.items():
        lines = [line for line in diagnose(seen).lines() if not line.startswith("Record:")]
        words[name] = " ".join(lines)
    return words


def test_twenty_records_have_the_words_of_the_table_each_of_two_times():
    """``twenty-records.md``: ten sick and ten healthy records, with the doctor's words."""
    text = (Path(__file__).parent / "twenty-records.md").read_text()
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append(line.strip("| ").split(" | "))
    written = dict(rows[2:])
    records = {**SICK, **MORE_SICK, **WELL, **MORE_WELL}
    assert len(records) == 20
    assert len(SICK) + len(MORE_SICK) == 10
    for _ in range(2):
        assert words_of(records) == written
    for seen in records.values():
        assert diagnose(seen).to_dict() == diagnose(seen).to_dict()


def test_a_speed_up_above_the_tokens_per_pass_is_capped_and_changes_no_setting():
    """A plain step of 50 ms beside a round of 12 ms: 4.1 / 0.24 = 17, but a round emits 4.1
    tokens.
    """
    diagnosis = diagnose(MORE_SICK["a plain decoding step measured too slow"])
    assert diagnosis.speedup.value == diagnosis.speedup.high == diagnosis.at_most
    assert diagnosis.at_most == pytest.approx(diagnosis.length.value)
    assert not diagnosis.decided
    assert "the plain decoding step was measured too slow" in " ".join(diagnosis.lines())
    assert diagnosis.advised == diagnosis.observed
    assert not diagnosis.findings


def test_the_shares_are_the_parts_of_the_loss():
    diagnosis = diagnose(replace(HEALTHY, draft=10.0, verify=10.0, overhead=0.0))
    # A round takes 2 steps: the time's part is log 2.
    lost = log(5 / diagnosis.speedup.value)
    assert diagnosis.shares["drafting"] == pytest.approx(log(2) / lost)
    assert diagnosis.shares["acceptance"] == pytest.approx(log(5 / diagnosis.length.value) / lost)
    assert diagnosis.shares["verification"] == diagnosis.shares["overhead"] == 0


@pytest.mark.parametrize(
    ("observation", "drafting"),
    [
        (Observation("case", rounds(0.9)), 0),
        (Observation("case", rounds(0.9), step=10.0), 0),
        (Observation("case", rounds(0.9), step=10.0, draft=1.0), 0.1),
        (Observation("case", rounds(0.9), verify=11.0, draft=1.0), 0),
    ],
    ids=["neither", "a step", "a step and a draft", "no step"],
)
def test_an_unknown_cost_is_unknown(observation, drafting):
    diagnosis = diagnose(observation)
    assert diagnosis.speedup.value is None
    assert diagnosis.advised is None
    assert not diagnosis.flags
    assert not diagnosis.shares
    assert diagnosis.at_most == pytest.approx(diagnosis.length.value / (1 + drafting))
    assert diagnosis.verdict.startswith("undecided")
    assert "at most" in diagnosis.verdict
    assert diagnosis.to_dict()["not_observed"]


def test_what_is_known_of_the_speed_is_said():
    """A bound below 1 is a verdict, a round that was not divided has a speed-up, and nothing
    accepted has no NaN.
    """
    diagnosis = diagnose(Observation("case", rounds(0.1), step=10.0, verify=13.0))
    assert diagnosis.verdict.startswith("speculation loses: at most 0.8")
    assert not diagnosis.flags
    diagnosis = diagnose(
        with_figures(Observation("case", rounds(0.9)), Known(speed=20.0, plain_speed=10.0))
    )
    assert diagnosis.speedup.value == pytest.approx(2)
    assert set(diagnosis.shares) == {"acceptance", "round"}
    assert column(diagnosis.options, "stack") == [
        "4 draft tokens",
        "off",
    ]
    assert diagnosis.advised == diagnosis.observed
    diagnosis = diagnose(
        with_figures(
            from_figures([0.0, 0.0]),
            Known(step_ms=10.0, verify_ms=12.0, draft_ms=0.0, overhead_ms=0.0),
        )
    )
    assert diagnosis.cause == "acceptance"
    assert not diagnosis.advised.tokens
    assert "NaN" not in json.dumps(diagnosis.to_dict())


def test_noise_does_not_decide_and_the_error_of_the_level_is_not_used_for_a_ratio():
    """Whether 4 draft tokens pay is undecided; that 1 is better than 4 is certain, by the same
    times.
    """
    seen = replace(HEALTHY, rounds=rounds(0.5, 4, 60), draft=6.0)
    diagnosis = diagnose(seen)
    low, high = diagnosis.speedup.interval
    assert low < 1 < high
    assert diagnosis.verdict.startswith("undecided")
    assert diagnosis.advised.tokens == 1
    assert diagnosis.advised.speedup > 1.05 * diagnosis.observed.speedup
    assert "whether speculation pays at all is undecided" in diagnosis.lines()[1]
    assert diagnosis.more.endswith("more rounds")
    assert f"to decide, {diagnosis.more}." in " ".join(diagnosis.lines())


def test_more_rounds_narrow_the_interval_and_repetitions_are_asked_for_where_they_spread():
    seen = replace(HEALTHY, rounds=rounds(0.5, 4, 60), draft=6.0)
    low, high = diagnose(seen).speedup.interval
    more = {kind: 100 * n for kind, n in seen.rounds.items()}
    many = diagnose(replace(seen, rounds=Counter(more)))
    assert many.speedup.interval[1] - many.speedup.interval[0] < high - low
    spread = diagnose(replace(HEALTHY, draft=25.0, speedups=(0.6, 1.8, 0.7, 1.5)))
    assert not spread.decided
    assert spread.advised == spread.observed
    assert spread.more.endswith("more times")


def test_a_busy_machine_is_reported_and_changes_no_setting():
    quiet = diagnose(SICK["drafting"])
    busy = diagnose(replace(SICK["drafting"], busy="load average 9.0 on 2 cores"))
    assert quiet.advised != quiet.observed
    assert busy.advised == busy.observed
    assert "The machine was busy" in " ".join(busy.lines())


def test_a_signature_of_slow_rounds_needs_a_certain_loss_on_a_quiet_machine():
    slow = replace(HEALTHY, verify=30.0, draft=18.0, overhead=1.0)
    lost = replace(slow, verify=45.0)
    (finding,) = diagnose(lost).findings
    assert finding.sign.name == "verification not memory-bound"
    assert not diagnose(replace(lost, busy="load average 9.0 on 2 cores")).findings
    undecided = diagnose(replace(slow, speedups=(0.7, 1.1, 0.8, 1.05)))
    assert undecided.speedup.value < 0.97
    assert undecided.verdict.startswith("undecided")
    assert not undecided.findings
