"""The frame of the experiments: arguments, errors, interleaving, intervals, reports."""

from __future__ import annotations

import pytest

from benchmarks.harness import arguments, command, resumed, write
from hsd_viz.errors import UserError
from hsd_viz.machine import describe


@pytest.fixture
def parser():
    return arguments("example", "Measure things.\n\nDetails.", suite="heldout", tokens=8)


def test_arguments_have_defaults_and_check_integers(parser, capsys):
    received = {}
    assert command(parser, ["--tokens", "3"], lambda options: received.update(vars(options))) == 0
    assert received == {"suite": "heldout", "tokens": 3, "json": None}
    assert command(parser, ["--tokens", "0"], lambda options: None) == 2
    assert (
        "argument --tokens: 0 is out of range: expected an integer from 1"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("error", "code"), [(UserError("bad"), 2), (OSError("gone"), 2), (KeyboardInterrupt(), 130)]
)
def test_errors_become_exit_codes(parser, capsys, error, code):
    def work(options):
        raise error

    assert command(parser, [], work) == code
    assert capsys.readouterr().err == ("" if code == 130 else f"benchmarks.example: {error}\n")


def test_a_fault_of_an_experiment_keeps_its_traceback(parser):
    with pytest.raises(ValueError, match="a fault"):
        command(parser, [], lambda options: exec('raise ValueError("a fault")'))


def test_a_report_that_cannot_be_written_is_rejected_first(parser, tmp_path, capsys):
    calls = []
    for path in (tmp_path, tmp_path / "missing" / "x.json"):
        assert command(parser, ["--json", str(path)], calls.append) == 2
    assert calls == []
    assert "cannot write" in capsys.readouterr().err


def test_resuming_needs_the_same_settings(tmp_path):
    path = tmp_path / "r.json"
    settings = {"seed": 1, "layers": [0]}
    assert resumed(path, "x", settings) is None
    report = {"format": "x", "machine": describe(), "settings": settings, "points": []}
    write(path, report)
    assert (
        resumed(path, "x", settings | {"layers": [2]}, free=("layers",)).items() >= report.items()
    )
    for kind, other in (("y", settings), ("x", {"seed": 2, "layers": [0]})):
        with pytest.raises(ValueError, match="other settings or on another machine"):
            resumed(path, kind, other)
    path.write_text("[]")
    with pytest.raises(ValueError, match="is not a report of this benchmark"):
        resumed(path, "x", settings)
