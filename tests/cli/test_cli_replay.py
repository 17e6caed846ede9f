"""``hsd-viz replay``: tables and files, one-line errors, and Ctrl-C."""

from __future__ import annotations

import json

import pytest

from hsd_viz.cli import main
from hsd_viz.logs.replay import replay_text


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entries = [{"prompt": f"{k} a <b>b</b> c", "output": "a <b>b</b> c d"} for k in range(6)]
    entries += [{"prompt": "y", "output": "z"}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_a_replay_prints_tables_and_writes_files(log, tmp_path, capsys):
    words = ["replay", "log.jsonl", "--tokenizer", "target", "--drafter", "lookup", "--drafter", "<i>x"]
    assert main([*words, "--json", "out.json", "--html", "out.html"]) == 0
    out = capsys.readouterr().out
    assert "7 requests" in out and "Not replayed: <i>x" in out and "lookup" in out
    assert "Settings to paste" in out and '"method": "ngram"' in out
    data = json.loads((tmp_path / "out.json").read_text())
    (row,) = data["drafters"]
    assert row["name"] == "lookup" and row["mean_acceptance_length"] > 1 and row["mean_acceptance_length_ci"]
    assert len(row["accepted_by_position"]) == len(row["drafted_by_position"]) > 0
    html = (tmp_path / "out.html").read_text()
    assert "&lt;i&gt;x" in html and "<i>x" not in html and "<script" not in html
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.jsonl", "out.html", "out.json"]


def test_an_interrupted_replay_writes_the_requests_so_far(log, tmp_path, capsys, monkeypatch):
    done = iter([0, 1, 2])

    def interrupted(*args):
        if next(done, None) is None:
            raise KeyboardInterrupt
        return replay_text(*args)

    monkeypatch.setattr("hsd_viz.logs.replay.replay_text", interrupted)
    words = ["replay", "log.jsonl", "--tokenizer", "target", "--drafter", "lookup", "--json", "out.json"]
    assert main(words) == 130
    assert "interrupted" in capsys.readouterr().err
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["log"]["requests"] == 3 and not data["complete"]
