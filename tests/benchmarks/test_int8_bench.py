"""The measurement of models rounded to 8 bits."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.int8 import loss, main
from hsd_viz.backends import default_build
from hsd_viz.ladder.load import load_model
from hsd_viz.ladder.variants import rounded


@pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")
def test_it_writes_loss_and_times_of_every_model(tmp_path, capsys):
    out = tmp_path / "int8.json"
    assert main(["--prompts", "1", "--context", "20", "--repeats", "1", "--json", str(out)]) == 0
    found = json.loads(out.read_text())["models"]
    assert [row["model"] for row in found] == ["target", "small", "nano"]
    for row in found:
        assert row["weight_bytes"]["as_shipped"] == 2 * row["weight_bytes"]["int8"]
        assert row["milliseconds"]["int8"]["1"] > 0 and 0.9 < row["overlap"] < 1
        assert row["bits_per_token_int8"] != row["bits_per_token"]
    assert "nano: " in capsys.readouterr().out


def test_the_loss_grows_with_the_rounding():
    """A model loses nothing against itself, little in 8 bits, and more when these are rounded to 4."""
    module, texts = load_model("nano"), [list(range(300, 340))]
    mild = rounded(module)
    harsh = rounded(module)
    with torch.no_grad():
        for part in harsh.modules():
            if isinstance(part, torch.nn.Linear):
                step = part.weight.abs().amax(1, keepdim=True) / 7
                part.weight.copy_((part.weight / step).round() * step)
    same, near, far = (loss((module, other), texts) for other in (module, mild, harsh))
    assert same["overlap"] == pytest.approx(1, abs=1e-5) and same["bits_per_token"] == same["bits_per_token_int8"]
    assert same["overlap"] > near["overlap"] > far["overlap"] and near["tokens"] == 39


def test_bad_input_is_one_line(capsys):
    assert main(["--suite", "nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
