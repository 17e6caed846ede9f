"""The measurement of int8 beside float32."""

from __future__ import annotations

import json

import pytest

from benchmarks.int8 import main
from hsd_viz.native.build import default_build

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
