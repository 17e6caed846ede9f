"""Intervals and bounds of a prediction, by hand."""

from __future__ import annotations

import pytest

import hsd_viz as hsd
from hsd_viz.measure.predict.stacks_on_hardware import STEP_ERROR


def test_the_interval_of_a_speed_is_that_of_step_times_where_nothing_is_drafted():
    prediction = hsd.predict("H100", ("llama-8b",), databases=False)
    (row,) = prediction.rows
    speed = row.tokens_per_second
    assert speed.low == pytest.approx(speed.value / (1 + STEP_ERROR))
    assert speed.high == pytest.approx(speed.value * (1 + STEP_ERROR))
    assert STEP_ERROR == 0.18


def test_a_draft_pays_only_at_batches_that_fit():
    """24 GB hold Llama 3.1 8B in bf16 with few caches of 2 048 tokens."""
    prediction = hsd.predict("RTX 4090", ("llama-8b", "eagle3"), databases=False)
    most = prediction.most_batch["eagle3"]
    assert 1 < most < 64
    assert f"pays up to batch {most}, the largest that fits" in prediction.answers()[0]
