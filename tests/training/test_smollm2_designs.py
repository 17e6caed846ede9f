"""The comparison of designs of a draft model for SmolLM2."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hsd_viz.models import files as files_module
from tests.training.test_smollm2_drafts import options_of, school  # noqa: F401
from training.smollm2 import designs as designs_module
from training.smollm2.designs import Design, best, compare

#: Milliseconds of a pass of the target, whose other tokens are free.
FREE_WIDTHS = [2.0] * 9


def test_the_speed_up_of_a_design_by_hand():
    """Two draft tokens of .5 emit 1.75 tokens in 1 + 2 · .1 passes; one emits 1.5 in 1.1, three
    1.875 in 1.3.
    """
    speedup, lookahead = best(0.5, 0.2, FREE_WIDTHS)
    assert speedup == pytest.approx(1.75 / 1.2)
    assert lookahead == 2


def test_a_design_that_is_always_right_and_free_drafts_as_much_as_it_may():
    assert best(1.0, 0.0, FREE_WIDTHS) == (pytest.approx(9.0), 8)


def test_a_wide_pass_counts_in_the_speed_up():
    """A second token doubles the pass: 1.5 tokens in 2.1 passes."""
    steep = [2.0, *[4.0] * 8]
    assert best(0.5, 0.2, steep)[0] == pytest.approx(max(1.5 / 2.1, 1.75 / 2.2, 1.875 / 2.3))


@pytest.fixture
def compared(school, tmp_path, monkeypatch):  # noqa: F811
    """A comparison of two designs, a function that repeats it, and its file."""
    monkeypatch.setattr(designs_module, "TIMED", 1)
    monkeypatch.setattr(designs_module, "PASSES", 2)
    monkeypatch.setattr(designs_module, "CONTEXT", 4)
    designs = (Design("one layer", (0,), head=60), Design("whole head", (1, -1), head=0))
    monkeypatch.setattr(designs_module, "DESIGNS", designs)
    lender = files_module.FAMILIES["smollm2"]
    lent = replace(lender, models={"target": school / "target"})
    monkeypatch.setattr(files_module, "FAMILIES", {"smollm2": lent})
    path = tmp_path / "comparison.json"
    options = options_of(school, tmp_path / "out")
    again = partial(compare, options, 0.01, path)
    return again(), again, path


def test_each_design_has_its_figures(compared):
    comparison, *_ = compared
    assert list(comparison["designs"]) == ["one layer", "whole head"]
    for facts in comparison["designs"].values():
        assert facts["steps"] >= 1
        assert facts["seen"] > 0
        assert 0 < facts["overlap"] < 1
        assert facts["cost"] == pytest.approx(facts["pass_ms"] / comparison["target_ms"][0])
        expected = best(facts["overlap"], facts["pass_ms"], comparison["target_ms"])
        assert (facts["speedup"], facts["lookahead"]) == expected


def test_a_finished_design_is_not_trained_again(compared, monkeypatch):
    _, compare_again, path = compared

    def refuse(*given):
        raise AssertionError("trained again")

    kept = json.loads(path.read_text())["designs"]["one layer"]
    monkeypatch.setattr(designs_module, "train_design", refuse)
    again = compare_again()
    assert again["designs"]["one layer"]["overlap"] == kept["overlap"]
    assert np.isfinite(again["designs"]["one layer"]["speedup"])
