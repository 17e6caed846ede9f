"""``--json`` of every command: it writes to a file, or prints one object in place of the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hsd_viz import bundled, load_bundled
from hsd_viz.models.families import LADDER
from hsd_viz.views.page_data import saved_reports

DATABASE = LADDER / "databases" / "statistics.hsdb"
RECORD = Path(__file__).parents[1] / "fixtures" / "records" / "vllm-0.32.0-summary.jsonl"
LOG = {"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6] * 20}
DECODE = ("decode", "--stack", "db > target", "--prompt", "def main(", "--max-new-tokens", "4")
PREDICT = "predict --gpu H100 --models llama-8b,llama-1b"
COMMANDS = {
    "bench --from report.json": "stacks",
    "databases inspect": None,
    f"databases inspect {DATABASE}": "vocabulary_hash",
    "doctor run.json.gz": "speedup",
    f"import {RECORD}": "series",
    "ladder info": "models",
    "models info code": "models",
    "models list": "families",
    PREDICT: "assumptions",
    "replay log.jsonl --drafter lookup": "drafters",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The current folder, with the files that the commands read."""
    monkeypatch.chdir(tmp_path)
    load_bundled(bundled()[0].name).save("run.json.gz")
    report = next(path for path in saved_reports().values() if path.stem.startswith("heldout"))
    (tmp_path / "report.json").write_bytes(report.read_bytes())
    (tmp_path / "log.jsonl").write_text(json.dumps(LOG) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_left_out_the_file_is_standard_output(command, files, cli):
    printed = cli(*command.split(), "--json")
    assert printed.count("\n") == 1
    assert printed == cli(*command.split(), "--json", "-")
    assert list(files.glob("-*")) == []
    key = COMMANDS[command]
    data = json.loads(printed)
    assert isinstance(data, list) if key is None else key in data


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_has_the_object_that_would_be_printed(command, files, cli):
    text = cli(*command.split())
    assert cli(*command.split(), "--json", "out.json") == text
    printed = json.loads(cli(*command.split(), "--json"))
    assert json.loads((files / "out.json").read_text()) == printed


def test_a_decode_that_is_written_to_a_file_is_still_printed(files, cli):
    printed = cli(*DECODE, "--json", "out.json")
    data = json.loads((files / "out.json").read_text())
    assert printed == data["text"] + "\n"
    assert json.loads(cli(*DECODE, "--json", "-"))["token_ids"] == data["token_ids"]


def test_a_database_is_not_taken_as_the_output(files, cli):
    path = files / "my.hsdb"
    path.write_bytes(DATABASE.read_bytes())
    message = cli("databases", "inspect", "--json", path, code=2)
    assert "--json would replace the database" in message
    assert path.read_bytes() == DATABASE.read_bytes()


def test_the_page_is_printed_in_place_of_the_text(files, cli):
    printed = cli(*PREDICT.split(), "--html", "-")
    cli(*PREDICT.split(), "--html", "page.html")
    assert printed == (files / "page.html").read_text(encoding="utf-8") + "\n"
    assert not (files / "-").exists()


def test_only_one_of_the_page_and_json_is_printed(files, cli):
    message = cli(*PREDICT.split(), "--html", "-", "--json", code=2)
    assert "standard output takes one of the page and JSON" in message
