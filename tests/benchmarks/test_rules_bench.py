"""The comparison of the verification rules: its figures, and that every experiment can be
started.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.rules import expected, summary
from hsd_viz.decoding.verify import RULES
from tests.rows import column

ROOT = Path(__file__).resolve().parents[2]


def run(rounds: float, token: float, block: float) -> dict:
    """One prompt of one level; block verification takes half the time per token, branch a
    quarter more than that.
    """

    def side(seconds):
        return {"seconds": seconds, "tokens": 10, "forwards": 5, "levels": {}}

    level = {
        "rounds": rounds,
        "drafted": 4 * rounds,
        "token": token,
        **dict.fromkeys(("block", "branch", "accepted"), block),
    }
    slow = {"token": side(2.0), "branch": side(1.25)}
    return {
        "stack": "a > b",
        "temperature": 1.0,
        "block": {**side(1.0), "levels": {"1": level}},
        **slow,
    }


def test_gain_and_times_have_intervals_over_prompts():
    (row,) = summary([run(10, 10, 13), run(10, 10, 11)])
    assert row["block_gain"] == row["branch_gain"] == pytest.approx(44 / 40 - 1)
    assert row["prompts"] == 2
    assert row["rounds"] == 20
    assert row["token_gain"] == 0
    assert row["block_gain_ci"] == pytest.approx([0.05, 0.15])
    assert row["block_time"] == pytest.approx(0.5)
    assert row["block_time_ci"] == pytest.approx([0.5, 0.5])
    assert row["branch_time"] == pytest.approx(0.625)
    assert row["timed_prompts"] == 2
    (alone,) = summary([run(10, 10, 13)])
    assert alone["block_gain"] == pytest.approx(0.15)
    assert alone["block_gain_ci"] is alone["block_time_ci"] is None


def test_the_expected_lengths_of_a_draft():
    """The second token is twice as probable for the verifier: a block may pass on what the first
    one left over.
    """
    chain = [SimpleNamespace(round=0, p=p, q=q) for p, q in ((0.8, 0.4), (0.3, 0.6), (0.2, 0.1))]
    row = SimpleNamespace(id=0, rule="block", level=1, drafted=3, accepted=2)
    sums = expected(SimpleNamespace(draft_rows=chain, round_rows=[row]))["1"]
    lengths = {"token": 1 + 0.5 + 0.5, "block": 1 + 0.5 + 1, "branch": 1 + 0.5 + 1}
    assert sums == pytest.approx({"rounds": 1, "drafted": 3, "accepted": 2, **lengths})
    assert list(RULES) == ["token", "block", "branch"]


@pytest.mark.parametrize("name", sorted(column((ROOT / "benchmarks").glob("[!_]*.py"), "stem")))
def test_every_experiment_can_be_imported(name):
    importlib.import_module(f"benchmarks.{name}")
