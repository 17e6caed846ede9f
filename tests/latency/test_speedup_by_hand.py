"""Compare the bound of speed-ups and the numbers of repetitions with figures computed by hand."""

from __future__ import annotations

from math import log

import pytest

from hsd_viz.latency.speedup import bounded, repeated, repeats_to_decide, speed_up
from hsd_viz.results import Estimate


def test_a_speed_up_and_its_interval_are_at_most_the_tokens_per_pass():
    made = speed_up(2.0, log(1.5), 2.5)
    assert made.estimate.low == pytest.approx(2 / 1.5)
    assert made.estimate.value == 2.0
    assert made.estimate.high == 2.5
    assert not made.note
    above = bounded(Estimate(4.09, 0.77, 21.55), 2.67)
    assert above.estimate.value == 2.67
    assert above.estimate.high == 2.67
    assert "4.09 at 2.67 tokens per forward pass" in above.note


def test_two_repetitions_have_the_quantile_of_student():
    """The logarithms are log 2 and log 8, with mean log 4; their deviation log 4 / √2 is divided by
    √2 and multiplied by 12.706.
    """
    mean, half = repeated((2.0, 8.0))
    assert mean == pytest.approx(log(4))
    assert half == pytest.approx(12.706 * log(4) / 2, rel=1e-6)


def test_more_than_one_repetition_is_asked_for_where_two_hardly_agree():
    """The deviation is log 4 / √2 = 0.98 and the distance log 4 = 1.386. 3 repetitions give 4.303 ·
    0.98 / √3 = 2.43, 4 give 3.182 · 0.98 / 2 = 1.56, and 5 give 2.776 · 0.98 / √5 = 1.22, so three
    more are needed.
    """
    assert repeats_to_decide((2.0, 8.0), 4.0) == 3
