"""The benchmarks of the native runtime in small runs: curves by width, int8 beside float32, what
the loop adds to its calls.
"""

from __future__ import annotations

import json
import os

import pytest

from benchmarks import curves, int8, layer
from hsd_viz.native.build import default_build
from tests.rows import column

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


def test_curves_of_both_runtimes(tmp_path, capsys):
    out = tmp_path / "curves.json"
    assert (
        curves.main(
            [
                "--model",
                "nano",
                "--context",
                "40",
                "--prefill",
                "64",
                "--repeats",
                "2",
                "--json",
                str(out),
            ]
        )
        == 0
    )
    table = capsys.readouterr().out.splitlines()
    data = json.loads(out.read_text())
    assert len(table) == 2 + len(curves.WIDTHS) + 2
    assert table[0].startswith("nano, int8, 1 thread,")
    assert os.listdir(tmp_path) == ["curves.json"]
    for runtime in ("native", "eager"):
        figures = data["milliseconds"][runtime]
        assert list(figures) == [*map(str, curves.WIDTHS), "step", "prefill"]
        for ms in figures.values():
            assert 0 < ms < 10_000


def test_int8_has_loss_and_times_of_every_model(tmp_path, capsys):
    out = tmp_path / "int8.json"
    assert (
        int8.main(["--prompts", "2", "--context", "20", "--repeats", "1", "--json", str(out)]) == 0
    )
    report = json.loads(out.read_text())
    models = report["models"]
    pairs = {tuple(row["pair"]): row for row in report["pairs"]}
    assert 0.5 < pairs["target", "small"]["int8"] < 1
    assert len(pairs) == 3
    assert all(abs(row["int8"] - row["float32"]) < 0.02 for row in pairs.values())
    assert column(models, "model") == ["target", "small", "nano"]
    for row in models:
        assert row["weight_bytes"]["float32"] == 4 * row["weight_bytes"]["int8"]
        assert row["milliseconds"]["int8"]["1"] > 0
        assert 0.95 < row["overlap"] < 1
        assert 0 < abs(row["loss_int8"] - row["loss_float32"]) < 0.02
    assert "nano: " in capsys.readouterr().out


def test_the_layer_has_all_cases(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(layer, "STACKS", ("target", "db > nano:4 > target"))
    path = tmp_path / "layer.json"
    assert (
        layer.main(["--prompts", "1", "--tokens", "6", "--repeats", "1", "--json", str(path)]) == 0
    )
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == 8
    for row in rows:
        assert row["over_calls"] > 0
        assert row["us"] > 0
        assert ("over_bare" in row) == (row["stack"] == "target")
    assert "over its calls" in capsys.readouterr().out


def test_calls_are_timed_within_the_block_only():
    library = default_build().library
    before = library.hsd_vector_bytes
    with layer.timed_calls(library) as timer:
        library.hsd_vector_bytes()
        assert timer.calls == 1
        assert timer.ns > 0
        assert timer.cost() > 0
    assert library.hsd_vector_bytes is before
