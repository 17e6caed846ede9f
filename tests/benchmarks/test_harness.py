"""The frame of the experiments: arguments, errors, interleaving, intervals, reports."""

from __future__ import annotations

import json

import pytest

from benchmarks.harness import arguments, command, interleave, numbers, prompts_of, resumed, write
from hsd_viz.machine import describe


@pytest.fixture
def parser():
    return arguments("example", "Measure things.\n\nDetails.", suite="heldout", tokens=8)


def test_arguments_have_defaults_and_check_integers(parser, capsys):
    found = {}
    assert command(parser, ["--tokens", "3"], lambda options: found.update(vars(options))) == 0
    assert found == {"suite": "heldout", "tokens": 3, "json": None}
    assert command(parser, ["--tokens", "0"], lambda options: None) == 2
    assert "argument --tokens: 0 is out of range: expected an integer from 1" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(ValueError("bad"), 2), (OSError("gone"), 2), (KeyboardInterrupt(), 130)])
def test_errors_become_exit_codes(parser, capsys, error, code):
    def work(options):
        raise error

    assert command(parser, [], work) == code
    assert capsys.readouterr().err == ("" if code == 130 else f"benchmarks.example: {error}\n")


def test_a_report_that_cannot_be_written_is_rejected_first(parser, tmp_path, capsys):
    calls = []
    for path in (tmp_path, tmp_path / "missing" / "x.json"):
        assert command(parser, ["--json", str(path)], calls.append) == 2
    assert calls == [] and "cannot write" in capsys.readouterr().err


def test_variants_take_turns():
    assert list(interleave("ab", (1, 2), 2)) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)] * 2


def test_rows_take_a_line_each(tmp_path):
    report = {"format": "x", "rows": [{"a": 1}, {"a": [2, 3]}]}
    write(tmp_path / "r.json", report, "rows")
    written = json.loads((tmp_path / "r.json").read_text())
    assert written.pop("command").startswith("python -m benchmarks.") and written == report
    assert '  {"a": [2, 3]}\n' in (tmp_path / "r.json").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_resuming_needs_the_same_settings(tmp_path):
    path, settings = tmp_path / "r.json", {"seed": 1, "layers": [0]}
    assert resumed(path, "x", settings) is None
    report = {"format": "x", "machine": describe(), "settings": settings, "points": []}
    write(path, report)
    assert resumed(path, "x", settings | {"layers": [2]}, free=("layers",)).items() >= report.items()
    for kind, other in (("y", settings), ("x", {"seed": 2, "layers": [0]})):
        with pytest.raises(ValueError, match="other settings or on another machine"):
            resumed(path, kind, other)
    path.write_text("[]")
    with pytest.raises(ValueError, match="is not a report of this benchmark"):
        resumed(path, "x", settings)


def test_numbers_and_suites_are_checked(tmp_path):
    assert numbers("3,1,3", int, "--n") == (1, 3)
    with pytest.raises(ValueError, match="--n 'x' is not readable"):
        numbers("x", int, "--n")
    (tmp_path / "q.jsonl").write_text('{"question_id": 1, "category": "c", "turns": ["a"]}\n')
    with pytest.raises(ValueError, match="questions to chat models"):
        prompts_of(str(tmp_path / "q.jsonl"))
    assert len(prompts_of("heldout", 6).prompts) == 6
