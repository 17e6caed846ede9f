"""``hsd-viz course``."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

from hsd_viz.cli import main
from hsd_viz.exercises import editions
from tests.rows import column

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("solutions", [False, True])
def test_copy_writes_the_lessons_and_the_puzzles_of_one_edition(tmp_path, capsys, solutions):
    folder = tmp_path / "course"
    assert main(["course", "copy", str(folder), *(["--solutions"] if solutions else [])]) == 0
    files = sorted(folder.iterdir())
    assert len(files) == 11
    assert capsys.readouterr().out.split() == list(map(str, files))
    for path in files:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        text = "".join(column(notebook.cells, "source"))
        assert "SOLUTION" not in text
        assert ("raise NotImplementedError" in text) is not solutions


def test_copy_never_overwrites_answers(tmp_path, capsys):
    (tmp_path / "5-databases.ipynb").write_text("my answers")
    assert main(["course", "copy", str(tmp_path)]) == 2
    assert "5-databases.ipynb exists and may contain answers" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["my answers"]


def test_build_writes_the_named_editions_and_replaces_them(tmp_path, capsys):
    for _ in range(2):
        assert (
            main(["course", "build", str(tmp_path), "--edition", "otter", "--edition", "nbgrader"])
            == 0
        )
    assert sorted(os.listdir(tmp_path)) == ["nbgrader", "otter"]
    lesson = "2-draft-verify-accept"
    assert (tmp_path / "nbgrader" / "source" / lesson / f"{lesson}.ipynb").is_file()
    assert main(["course", "build", str(tmp_path), "--edition", "pdf"]) == 2
    assert "invalid choice: 'pdf'" in capsys.readouterr().err


def test_slides_are_one_file_of_the_lessons_asked_for(tmp_path, capsys):
    file = tmp_path / "lecture.html"
    assert main(["course", "slides", str(file), "--lesson", "3"]) == 0
    assert capsys.readouterr().out.strip() == str(file)
    text = file.read_text()
    assert 'data-lesson="3"' in text
    assert 'data-lesson="2"' not in text
    assert main(["course", "slides", str(file), "--lesson", "10"]) == 2
    assert "from 1 to 9" in capsys.readouterr().err
    assert file.read_text() == text
    assert main(["course", "slides", str(tmp_path / "missing" / "x.html")]) == 2


def test_figures_are_stored_in_the_student_edition_only(tmp_path, monkeypatch):
    first = editions.masters()[:1]
    monkeypatch.setattr(editions, "masters", lambda: first)
    assert (
        main(
            [
                "course",
                "build",
                str(tmp_path),
                "--edition",
                "student",
                "--edition",
                "otter",
                "--figures",
            ]
        )
        == 0
    )

    def count(path):
        return sum(bool(cell.get("outputs")) for cell in nbformat.read(path, 4).cells)

    counts = []
    for edition in ("student", "otter"):
        counts.append(sorted(map(count, (tmp_path / edition).iterdir())))
    # The lab sheet and the puzzles have none.
    assert counts == [[0, 0, 3], [0, 0, 0]]


def test_the_masters_are_part_of_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["notebooks/course/master"] == "hsd_viz/exercises/master"
    assert len(list((ROOT / "notebooks/course/master").glob("*.md"))) == 11


def test_the_book_lists_every_notebook_that_is_written(tmp_path, capsys):
    folder = tmp_path / "book"
    assert main(["course", "book", str(folder)]) == 0
    written = capsys.readouterr().out.split()
    contents = yaml.safe_load((folder / "myst.yml").read_text(encoding="utf-8"))
    listed = column(contents["project"]["toc"], "file")
    assert listed == [path.stem + ".ipynb" for path in editions.notebooks()]
    assert written == [*(str(folder / name) for name in listed), str(folder / "myst.yml")]
    for name in listed:
        assert (folder / name).is_file()
