"""The layer benchmark in a small run: every case has figures, and the library is as before."""

from __future__ import annotations

import json

import pytest

from benchmarks import layer
from hsd_viz.native.build import default_build

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


def test_a_small_run_has_all_cases(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(layer, "STACKS", ("target", "db > nano:4 > target"))
    path = tmp_path / "layer.json"
    assert layer.main(["--prompts", "1", "--tokens", "6", "--repeats", "1", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == 8 and all(row["over_calls"] > 0 and row["us"] > 0 for row in rows)
    assert all(("over_bare" in row) == (row["stack"] == "target") for row in rows)
    assert "over its calls" in capsys.readouterr().out


def test_calls_are_timed_within_the_block_only():
    library = default_build().library
    before = library.hsd_vector_bytes
    with layer.timed_calls(library) as timer:
        library.hsd_vector_bytes()
        assert timer.calls == 1 and timer.ns > 0
        assert timer.cost() > 0
    assert library.hsd_vector_bytes is before
