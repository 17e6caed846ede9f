"""The rebuild: its parts, their marks, and what it installs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from hsd_viz.cli import build_parser
from tools import rebuild as tool
from tools.docs import tables
from tools.docs.sentences import SENTENCES, figures
from tools.rebuild import commands, main


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout whose weights can be replaced and whose parts only note that they ran."""
    weights = tmp_path / "weights"
    ran = []
    for name in ("nano", "small", "target"):
        (weights / name).mkdir(parents=True)
        (weights / name / "config.json").write_text("{}")
        (weights / name / "model.safetensors").write_text(name)
    monkeypatch.setattr(tool, "LADDER", weights)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    parts = {
        name: (what, lambda job, name=name: ran.append(name) or [Path(name)])
        for name, (what, _) in tool.PARTS.items()
    }
    monkeypatch.setattr(tool, "PARTS", parts)
    return tmp_path, weights, ran


def run(parts=(), trained=None):
    said = []
    paths = tool.rebuild(parts, trained, progress=lambda text: None, say=said.append)
    return list(map(str, paths)), said


def test_every_part_runs_once_for_the_same_weights(checkout):
    _, _, ran = checkout
    everything = list(tool.PARTS)
    assert tool.pending() == everything
    assert run()[0] == everything
    assert tool.pending() == []
    assert run()[0] == []
    assert run(["card"])[0] == ["card"], "a part that is named runs again"
    assert ran == [*everything, "card"]


def test_an_interrupted_rebuild_resumes(checkout, monkeypatch):
    _, _, ran = checkout

    def stop(job):
        raise KeyboardInterrupt

    monkeypatch.setitem(tool.PARTS, "recordings", ("", stop))
    with pytest.raises(KeyboardInterrupt):
        run()
    assert ran == ["evaluation", "databases"]
    assert "recordings" in tool.pending()
    monkeypatch.setitem(tool.PARTS, "recordings", ("", lambda job: ran.append("recordings") or []))
    run()
    assert ran == list(tool.PARTS)


def test_bad_input_is_one_line(checkout, tmp_path):
    with pytest.raises(
        ValueError, match="unknown part 'traces': choose from evaluation, databases"
    ):
        run(["traces"])
    with pytest.raises(ValueError, match="contains no trained ladder"):
        run(trained=tmp_path / "none")


def test_the_command_lists_the_parts(checkout, capsys):
    (tool.work_folder()).mkdir(parents=True)
    (tool.work_folder() / "card.done").touch()
    assert main(["--list"]) == 0
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert list(rows) == list(tool.PARTS)
    assert rows["card"] == "done"
    assert rows["reports"] == "pending"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["poems"], "unknown part 'poems': choose from evaluation, databases"),
        (["card", "--trained", "nowhere"], "nowhere contains no trained ladder"),
    ],
)
def test_the_command_says_what_is_wrong_in_a_line(checkout, capsys, words, problem):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"python -m tools.rebuild: {problem}")
    assert said.count("\n") == 1


def test_the_commands_of_the_measurements_are_accepted():
    for words in commands().values():
        if words[0] == "hsd_viz":
            build_parser().parse_args([*words[1:], "--json", "x.json"])
        else:
            assert importlib.util.find_spec(words[0])


def test_the_evaluation_must_be_of_the_weights(monkeypatch, tmp_path):
    job = tool.Job(None, tmp_path, print, print)
    monkeypatch.setattr(
        tool, "info", lambda: {"models": {"nano": {"hash": "new"}}, "evaluation": {"models": {}}}
    )
    with pytest.raises(ValueError, match=r"other weights.*give --trained"):
        tool._evaluation(job)


#: Numbers of pages that were not measured: temperatures, versions, names, the published gain,
#: intervals, goals.
GIVEN = {
    "README.md": "0.7 3.11",
    "docs/results.md": "95 0.1 0.7 1.2 3.1 0.6.1 3.3 4 10 20 0.2 0.3.36",
    "docs/report.md": "1.0 1 0.7 1.2",
}


@pytest.mark.parametrize("place", tables.PAGES)
def test_the_figures_of_the_pages_are_those_of_the_reports(place):
    page = (tables.ROOT / place).read_text(encoding="utf-8")
    assert tables.filled(place) == page, "run `python -m tools.rebuild tables`"
    for sentence in SENTENCES.get(place, {}):
        page = page.replace(figures(sentence, page)[0], "")
    page = re.sub(
        r"<!-- begin (\S+) -->.*?<!-- end \1 -->|^```.*?^```|`[^`]*`", "", page, flags=re.S | re.M
    )
    if place == "docs/results.md":
        # `test_answers.py` compares the answers with their tables.
        page = re.sub(r"^\*\*.*\*\*$", "", page, flags=re.M)
    page = re.sub(r"\]\([^)]*\)|arXiv [\d.]+\d|License 2.0", "", page)
    if place in GIVEN:
        numbers = set(re.findall(r"\d[\d.]*\.\d+|\d+(?= ?%)", page))
        assert numbers <= set(GIVEN[place].split()), "a figure that no file in docs/bench gives"


def test_a_page_without_a_place_or_a_sentence_is_refused():
    with pytest.raises(ValueError, match="marked once, not 0"):
        tables.fill("no place", "quality", "")
    with pytest.raises(ValueError, match="once, not 2 times"):
        tables.state("by 3 nats, by 4 nats", "by {} nats", [5])
    assert tables.state("by 3\nnats", "by {:.1f} nats", [5]) == "by 5.0\nnats"
