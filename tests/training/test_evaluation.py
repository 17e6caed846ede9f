"""Measuring the models: agreement, copying, repetition, valid blocks, the table of goals."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from hsd_viz.ladder.torch_modules import load_model, load_tokenizer
from tests.rows import column
from training.evaluation import GOALS, evaluate_ladder, measure, table
from training.quality import OPENINGS, continuations, copied_share, parsed_lines


def test_overlap_of_a_model_with_itself_is_one(tiny, tmp_path) -> None:
    for name in ("nano", "target"):
        shutil.copytree(tiny / "weights" / "nano", tmp_path / name)
    measured = measure(tmp_path, np.load(tiny / "data" / "heldout.npy"), windows=2, window=64)
    assert measured["pairs"]["nano/target"]["overlap"] == pytest.approx(1, abs=1e-5)
    assert measured["pairs"]["nano/target"]["greedy_agreement"] == 1
    with pytest.raises(ValueError, match="contains none"):
        measure(tiny, np.zeros(100, dtype=np.uint16))


def test_an_evaluation_can_be_written_elsewhere(tiny, tmp_path, monkeypatch) -> None:
    def short(model, tokenizer, prompts, tokens, *rest):
        return continuations(model, tokenizer, prompts, 20, *rest)

    monkeypatch.setattr("training.quality.continuations", short)
    prompts = {"heldout": ["def f(x):\n", "import"], "edit": ["a = 1\nb = 2\n"]}
    evaluation = evaluate_ladder(
        tiny, out=tmp_path / "e.json", prompts=prompts, windows=2, window=64
    )
    assert json.loads((tmp_path / "e.json").read_text()) == evaluation
    assert 0 <= evaluation["writing"]["repetition"] <= 1
    assert 0 <= evaluation["writing"]["copied"] <= 1
    assert column(evaluation["writing"]["samples"], "prompt") == list(OPENINGS)
    assert len(OPENINGS) == 10


def test_the_table_compares_with_the_goals() -> None:
    evaluation = {"models": {"nano": {"loss": 3.1}, "small": {"loss": 2.9}}}
    rows = table(evaluation, before={"models": {"nano": {"loss": 3.6}}}).splitlines()
    assert len(rows) == 2 + len(GOALS)
    assert rows[2] == "| held-out loss, nano | 3.600 | 3.100 | ≤ 3.2 | reached |"
    assert rows[3] == "| held-out loss, small | – | 2.900 | ≤ 2.65 | missed by 0.250 |"
    assert rows[4].endswith("| – | – | ≤ 2.35 |  |")


def test_padding_does_not_change_a_continuation(tiny) -> None:
    model = load_model(str(tiny / "weights" / "target"), dtype="float64")
    tokenizer = load_tokenizer(tiny / "weights" / "target")
    prompts = ["def function(argument):", "x"]
    assert continuations(model, tokenizer, prompts, 8) == [
        continuations(model, tokenizer, [p], 8)[0] for p in prompts
    ]
    assert continuations(model, tokenizer, prompts, 8, 0.7) == continuations(
        model, tokenizer, prompts, 8, 0.7
    )


def test_copied_share() -> None:
    assert copied_share("a b c d e", "") == 0
    assert copied_share("a = f(x)\n", "a = f(x)\n") > 0.6
    assert copied_share("a = f(x)\n", "zzz yyy www vvv") == 0


@pytest.mark.parametrize(
    ("text", "accepted", "lines"),
    [
        ("def f():\n    return 1\n\nx = 2\n", 3, 3),
        ("def f(:\n    return 1\n\nx = 2\n", 1, 3),
        ("x = 1\ndef f(:\n    return 1\n@d\ndef g():\n    pass\ny = 3\n", 5, 7),
        ('s = """a\nb c d\n"""\ny = 1\n', 4, 4),
        ("if x:\n    y\nelse:\n    z\nw = 1", 5, 5),
        ("def f():\n    x = 1\n    y = (", 2, 3),
        ("", 0, 0),
    ],
)
def test_parsed_lines(text, accepted, lines) -> None:
    assert parsed_lines(text) == (accepted, lines)
