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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "huge"], "'huge' is neither a shipped model"),
        (["--context", "2040"], "target has a context of 2048 tokens, but 2056 are needed"),
        (["--repeats", "0"], "argument --repeats: 0 is out of range: expected an integer from 1"),
        (["--json", "/nowhere/x.json"], "there is no folder /nowhere"),
    ],
)
def test_bad_input_gets_one_line(arguments, said, capsys):
    assert main(arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert said in lines[-1]
