"""Wordings and bounds that several rooms share."""

from __future__ import annotations

import pytest

from hsd_viz.words import MAX_BUDGET, check_budget, counted


def test_one_of_a_thing_and_several():
    assert [counted(n, "thread") for n in (0, 1, 2)] == ["0 threads", "1 thread", "2 threads"]


@pytest.mark.parametrize("budget", [0, -1, MAX_BUDGET + 1, True, 2.0, "8"])
def test_no_budget(budget):
    assert all(check_budget(good) is None for good in (None, 1, MAX_BUDGET))
    wrong = "out of range" if type(budget) is int else "not valid"
    with pytest.raises(ValueError, match=f"the budget {budget} is {wrong}"):
        check_budget(budget)
