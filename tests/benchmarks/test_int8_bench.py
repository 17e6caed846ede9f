"""The measurement of int8 beside float32."""

from __future__ import annotations

import json

import pytest

from benchmarks.int8 import compare, main
from hsd_viz.ladder.load import model_path
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load

needs_library = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


@needs_library
def test_it_writes_loss_and_times_of_every_model(tmp_path, capsys):
    out = tmp_path / "int8.json"
    assert main(["--prompts", "2", "--context", "20", "--repeats", "1", "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    found, pairs = report["models"], {tuple(row["pair"]): row for row in report["pairs"]}
    assert 0.5 < pairs["target", "small"]["int8"] < 1 and len(pairs) == 3
    assert all(abs(row["int8"] - row["float32"]) < 0.02 for row in pairs.values())
    assert [row["model"] for row in found] == ["target", "small", "nano"]
    for row in found:
        assert row["weight_bytes"]["float32"] == 4 * row["weight_bytes"]["int8"]
        assert row["milliseconds"]["int8"]["1"] > 0 and 0.95 < row["overlap"] < 1
        assert 0 < abs(row["loss_int8"] - row["loss_float32"]) < 0.02
    assert "nano: " in capsys.readouterr().out


@needs_library
def test_a_model_loses_nothing_against_itself():
    model = NativeModel(load(model_path("nano")))
    found, pairs = compare({"nano": [model, model]}, [list(range(300, 340))])
    same = found["nano"]
    assert pairs == []
    assert same["overlap"] == pytest.approx(1, abs=1e-5) and same["loss_int8"] == same["loss_float32"]
    assert same["tokens"] == 39 and same["same_likeliest"] == 1


def test_bad_input_is_one_line(capsys):
    assert main(["--suite", "nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
