"""Times of a hardware model where they were not observed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import hsd_viz
from hsd_viz.measure.doctor.api import doctor
from hsd_viz.measure.doctor.observe import from_figures, with_figures, with_hardware
from hsd_viz.measure.doctor.options import Hardware, Known
from hsd_viz.measure.doctor.verdict import diagnose
from tests.measure.doctor.observations import (
    H100,
)
from tests.rows import column


def test_a_method_given_for_a_run_of_a_database_names_no_draft_model():
    run = hsd_viz.load_bundled("mixed")
    assert run.stack == "db > target"
    known = hsd_viz.Known(method="draft", batch=32)
    hardware = hsd_viz.Hardware("H100", ["llama-8b", "llama-1b"])
    diagnosis = doctor(run, known=known, hardware=hardware)
    assert {option.stack for option in diagnosis.options} <= {"db > target", "target"}


def test_a_hardware_model_fills_in_times_at_the_batch_of_the_run():
    given = with_figures(
        from_figures([0.8, 0.62, 0.48, 0.38, 0.3]), Known(batch=32, method="EAGLE-3")
    )
    diagnosis = diagnose(given, with_hardware(given, H100))
    assert diagnosis.predicted == ("step", "verify", "draft", "overhead")
    assert diagnosis.verdict.startswith("predicted: ")
    assert (
        json.loads(diagnosis.flags["vllm 0.32.0"].split("'")[1])["num_speculative_tokens"]
        == diagnosis.advised.tokens
    )
    # A larger batch has less room for draft tokens; observed times stay.
    one = with_hardware(replace(given, batch=1), H100)
    many = with_hardware(replace(given, batch=256), H100)
    assert one.verify / one.step < many.verify / many.step
    assert one.draft < many.draft
    known = with_hardware(replace(given, step=40.0, verify=60.0), H100)
    assert known.step == 40.0
    assert known.verify == 60.0
    assert known.draft > 2 * one.draft
    assert with_hardware(replace(given, method="suffix"), H100).draft == 0


def test_measured_speeds_are_not_called_predicted_and_fire_no_signature_of_predicted_times():
    def of(speed):
        given = with_figures(
            from_figures([0.6], 5),
            Known(speed=speed, plain_speed=83.0, batch=32, method="eagle3"),
        )
        return diagnose(given, with_hardware(given, H100))

    lost = of(61.0)
    near = of(85.0)
    assert lost.verdict.startswith("speculation loses: 0.73")
    assert not lost.findings
    assert not lost.advised.tokens
    assert lost.speedup.value == pytest.approx(61 / 83)
    assert lost.speedup.interval[1] < 0.8
    assert set(lost.predicted) == {"verify", "draft", "overhead"}
    assert near.verdict.startswith("undecided")
    assert near.advised == near.observed


@pytest.mark.parametrize("batch", [1, 256])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0, 1.1, 2.4])
def test_verdict_advice_and_settings_agree(ratio, batch):
    seen = with_figures(
        from_figures([0.7, 0.5, 0.3]),
        Known(speed=25 * ratio, plain_speed=25.0, batch=batch, method="eagle3"),
    )
    diagnosis = diagnose(seen, with_hardware(seen, H100))
    low, high = diagnosis.speedup.interval
    if low > 1:
        said = "pays"
    elif high < 1:
        said = "loses"
    else:
        said = "undecided"
    assert said in diagnosis.verdict
    assert diagnosis.advised.speedup >= diagnosis.observed.speedup
    assert (diagnosis.advised.tokens == 0) == ("leave out" in diagnosis.flags["vllm 0.32.0"])
    assert diagnosis.observed.speedup >= 1 or "keep" not in diagnosis.lines()[1]
    assert not (low > 1 and diagnosis.advised.tokens == 0)


def test_a_hardware_model_says_what_another_batch_brings():
    diagnosis = doctor(
        acceptance=(0.6, 0.3, 0.1),
        known=Known(method="eagle"),
        hardware=Hardware("H100", ("llama-8b",), context=128),
    )
    assert column(diagnosis.batches, "requests") == ["1", "4", "16", "64", "256"]
    speedups = [row.speedup.value for row in diagnosis.batches]
    assert speedups[0] > speedups[-1]
    for value in speedups:
        assert value <= 2.0
    speeds = [row.tokens_per_second.value for row in diagnosis.batches]
    assert speeds == sorted(speeds, reverse=True)
    assert "batches of the hardware model are predicted" in diagnosis.to_text()
