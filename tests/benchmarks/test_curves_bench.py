"""The command that measures forwards by width."""

from __future__ import annotations

import json

import pytest

from benchmarks.curves import WIDTHS, main
from hsd_viz.native.build import default_build


@pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")
def test_it_measures_both_runtimes(tmp_path, capsys):
    out = tmp_path / "curves.json"
    assert main(["--model", "nano", "--context", "40", "--prefill", "64", "--repeats", "2", "--json", str(out)]) == 0
    table, data = capsys.readouterr().out.splitlines(), json.loads(out.read_text())
    assert len(table) == 2 + len(WIDTHS) + 2 and table[0].startswith("nano, int8, 1 thread,")
    assert [path.name for path in tmp_path.iterdir()] == ["curves.json"]
    for runtime in ("native", "eager"):
        figures = data["milliseconds"][runtime]
        assert list(figures) == [*map(str, WIDTHS), "step", "prefill"]
        assert all(0 < ms < 10_000 for ms in figures.values())
