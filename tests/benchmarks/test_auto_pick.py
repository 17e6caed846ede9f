"""The comparison of ``auto`` with fixed stacks: ratios of speeds over the same runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.auto_pick import AUTO, ratios


def test_ratios_are_those_of_the_sums():
    found = {AUTO: np.array([[10, 1.0], [30, 1.0]]), "target": np.array([[10, 2.0], [30, 3.0]])}
    rows = ratios(found)
    assert rows[AUTO]["auto_over"] == 1.0 and rows[AUTO]["auto_over_ci"] == [1.0, 1.0]
    assert rows["target"]["tokens_per_second"] == pytest.approx(8)
    low, high = rows["target"]["auto_over_ci"]
    assert rows["target"]["auto_over"] == pytest.approx(2.5) and 2 - 1e-9 <= low <= 2.5 <= high <= 3 + 1e-9
