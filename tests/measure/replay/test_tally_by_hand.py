"""What a replay adds up, by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hsd_viz.measure.replay.figures import Pays
from hsd_viz.measure.replay.tally import figures_of
from hsd_viz.results import Estimate


def test_a_round_costs_what_verifying_its_whole_draft_costs():
    """A draft of 3 of which 1 was accepted, and a round without: 3 tokens for c(3) + c(0)."""
    cost = np.array([1.0, 1.5, 2.0, 4.0])
    row = figures_of("x", Counter({(0, 2, 3, 3, 1): 1, (0, 1, 0, 0, 0): 1}), cost)
    assert row.speedup.value == pytest.approx(3 / 5)
    assert row.tokens == 3
    assert row.rounds == 2
    assert row.drafted == 3
    assert row.accepted == 1
    assert row.drafted_by_position == (1, 1, 1)
    assert row.accepted_by_position == (1, 0, 0)


@pytest.mark.parametrize(
    ("low", "high", "units", "pays"),
    [
        (1.1, 1.5, 9, Pays.YES),
        (0.9, 1.5, 9, Pays.UNCLEAR),
        (0.7, 1.0, 9, Pays.NO),
        (1.1, 1.5, 3, Pays.UNCLEAR),
    ],
)
def test_a_drafter_pays_only_where_its_whole_interval_does(low, high, units, pays):
    assert Pays.at(Estimate(1.2, low, high, units)) is pays
