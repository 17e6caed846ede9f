"""``auto`` beside fixed stacks: sums, ratios and intervals of planted figures, and a small run with the shipped ladder."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks import adaptive as auto
from hsd_viz.prompts.suites import Prompt, load_suite


def planted(speeds: dict[str, float], n: int = 12) -> dict[str, np.ndarray]:
    """Prompts of different lengths, each stack at its speed."""
    tokens = np.arange(20.0, 20 + n)
    return {stack: np.stack([tokens, tokens / speed], axis=1) for stack, speed in speeds.items()}


def test_ratios_to_plain_and_to_the_best_fixed_stack():
    found = auto.figures(planted({auto.PLAIN: 100, "db > target": 150, "nano:3 > target": 160, auto.AUTO: 200}))
    assert found["best_fixed"] == "nano:3 > target" and found["prompts"] == 12
    assert (found["over_plain"], found["over_best_fixed"]) == pytest.approx((2.0, 1.25))
    assert found["over_best_fixed_ci"] == pytest.approx([1.25, 1.25]), "the same prompts on both sides of a ratio"
    uneven = planted({auto.PLAIN: 100, "db > target": 150, auto.AUTO: 200})
    uneven[auto.AUTO][::2, 1] *= 2
    low, high = auto.figures(uneven)["over_plain_ci"]
    assert low < auto.figures(uneven)["over_plain"] < high


def test_greedy_repeats_are_the_same_text_and_others_are_not():
    decodes = [(10, 1.0, Counter()), (10, 5.0, Counter()), (10, 2.0, Counter())]
    assert auto.one_of(decodes, 0.0) == (10, 2.0)
    assert auto.one_of(decodes, 1.0) == (30, 8.0)


def test_prompts_come_from_the_categories_in_turn():
    suite = load_suite("python").limited(18)
    order = [p.category for p in auto.in_turn(suite)]
    assert order == list(suite.categories) * 3


def test_a_small_run(tmp_path, capsys):
    out = tmp_path / "auto.json"
    arguments = ["--prompts", "6", "--tokens", "6", "--repeats", "1", "--temperature", "1", "--json", str(out)]
    assert auto.main(arguments) == 0
    report = json.loads(out.read_text())
    (row,) = report["rows"]
    assert set(row["overall"]["tokens_per_second"]) == {auto.PLAIN, auto.AUTO, *auto.FIXED}
    assert len(row["by_category"]) == 6 and row["by_category"]["edit"]["over_plain_ci"] is None
    assert sum(row["rounds"].values()) > 0 and report["settings"]["clock"] == "processor"
    assert "over the best fixed" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--tokens", "0"], ["--repeats", "0"], ["--suite", "nothing"]])
def test_bad_input(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        auto.main(arguments)
    assert ended.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_what_served_adds_up():
    prompts = [Prompt("a", "x", ""), Prompt("b", "y", "")]
    kinds = Counter({"plain": 1, "nano": 3})
    rows = {stack: [[(8, 1.0, kinds)], [(8, 2.0, kinds)]] for stack in (auto.PLAIN, "db > target", auto.AUTO)}
    found = auto.compare(prompts, rows, 1.0)
    assert found["rounds"] == {"nano": 6, "plain": 2} and list(found["by_category"]) == ["x", "y"]
    assert auto.table([found]).count("\n") == 5
