"""The comparison of the verification rules: its figures, and that every experiment can be started."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.rules import summary

ROOT = Path(__file__).resolve().parents[2]


def run(rounds: float, token: float, block: float) -> dict:
    """One prompt of one level; block verification takes half the time per token."""
    side = lambda seconds: {"seconds": seconds, "tokens": 10, "forwards": 5, "levels": {}}
    levels = {"1": [rounds, 4 * rounds, token, block, block]}
    return {"stack": "a > b", "temperature": 1.0, "block": {**side(1.0), "levels": levels}, "token": side(2.0)}


def test_gain_and_times_have_intervals_over_prompts():
    (row,) = summary([run(10, 10, 13), run(10, 10, 11)])
    assert row["gain"] == pytest.approx(44 / 40 - 1) and row["prompts"] == 2 and row["rounds"] == 20
    assert row["gain_ci"] == pytest.approx([0.05, 0.15])
    assert row["time_per_token_block_over_token"] == pytest.approx(0.5) and row["time_ci"] == pytest.approx([0.5, 0.5])
    (alone,) = summary([run(10, 10, 13)])
    assert alone["gain"] == pytest.approx(0.15) and alone["gain_ci"] is None and alone["time_ci"] is None


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "benchmarks").glob("[!_]*.py")))
def test_every_experiment_can_be_imported(name):
    importlib.import_module(f"benchmarks.{name}")
