"""Wording and bounds that several packages share."""

from __future__ import annotations

import pytest

from hsd_viz.budget import MAX_BUDGET, check_budget
from hsd_viz.words import counted, did_you_mean


def test_a_close_name_is_suggested():
    assert did_you_mean("targt", ["nano", "target"]) == "; did you mean 'target'?"
    assert did_you_mean("x", ["nano"]) == ""


def test_singular_and_plural():
    assert [counted(n, "thread") for n in (0, 1, 2)] == ["0 threads", "1 thread", "2 threads"]


@pytest.mark.parametrize("budget", [None, 1, MAX_BUDGET])
def test_a_budget(budget):
    check_budget(budget)


@pytest.mark.parametrize("budget", [0, -1, MAX_BUDGET + 1, True, 2.0, "8"])
def test_no_budget(budget):
    with pytest.raises(ValueError, match=f"a budget of {budget} draft tokens is out of range"):
        check_budget(budget)
