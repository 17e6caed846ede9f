"""An output ``-`` is standard output, where a command writes one text."""

from pathlib import Path

import pytest

from hsd_viz.engine.recordings import load_bundled


@pytest.fixture
def saved(tmp_path):
    return load_bundled("sampled").save(tmp_path / "run.json.gz")


@pytest.mark.parametrize(
    ("option", "start"),
    [("--html", "<!doctype html>"), ("--perfetto", "{"), ("--aiperf", "{")],
)
def test_an_export_to_standard_output_is_all_that_is_printed(
    saved, tmp_path, cli, monkeypatch, option, start
):
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "written"
    cli("export", saved, option, written)
    printed = cli("export", saved, option, "-", "--csv", tmp_path / "tables")
    assert printed.startswith(start)
    assert printed.removesuffix("\n") == written.read_text(encoding="utf-8").removesuffix("\n")
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (("--html", "-", "--perfetto", "-"), "standard output takes one of the outputs"),
        (("--csv", "-"), "--csv writes several files: name a folder for them"),
    ],
)
def test_standard_output_takes_one_text(saved, cli, outputs, problem):
    assert problem in cli("export", saved, *outputs, code=2)


@pytest.mark.parametrize(
    "command",
    [("doctor", "run.json.gz", "--profile", "-"), ("import", "run.json.gz", "--save", "-")],
)
def test_an_output_that_must_be_a_file_is_not_printed(cli, command):
    assert "- is not possible here: name a file" in cli(*command, code=2)
