"""The lists of mutants follow texts and tests that move to another file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.mutants.follow import followed, with_tests
from tools.mutants.lists import Figure, Mutant

MUTANT = Mutant("hsd_viz/a.py", "x = 1", "x = 2", "tests/test_a.py::test_it[one]")


@pytest.fixture
def project(tmp_path):
    """A project with the text and the test of :data:`MUTANT` where they are listed."""
    write(tmp_path, "hsd_viz/a.py", "def f():\n    x = 1\n")
    write(tmp_path, "hsd_viz/b.py", "y = 1\n")
    write(tmp_path, "tests/test_a.py", "def test_it(name): ...\n")
    return tmp_path


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_what_is_in_its_place_stays(project):
    assert followed(MUTANT, project) == MUTANT


@pytest.mark.parametrize("rest", [None, "y = 1\n"], ids=["file gone", "file cut"])
def test_a_text_is_followed_however_it_is_wrapped(project, rest):
    write(project, "hsd_viz/part/c.py", "x  =  1\n")
    (project / "hsd_viz/a.py").unlink()
    if rest is not None:
        write(project, "hsd_viz/a.py", rest)
    assert followed(MUTANT, project) == replace(MUTANT, file="hsd_viz/part/c.py")


def test_a_test_is_followed_with_its_parameter(project):
    (project / "tests/test_a.py").rename(project / "tests/test_b.py")
    assert followed(MUTANT, project).test == "tests/test_b.py::test_it[one]"


def test_a_text_that_is_gone_or_in_several_files_is_reported(project):
    (project / "hsd_viz/a.py").unlink()
    with pytest.raises(ValueError, match="x = 1 is in no file"):
        followed(MUTANT, project)
    for name in ("hsd_viz/c.py", "hsd_viz/d.py"):
        write(project, name, "x = 1\n")
    with pytest.raises(ValueError, match=r"is in hsd_viz/c\.py, hsd_viz/d\.py"):
        followed(MUTANT, project)


def test_a_figure_has_the_new_place_of_its_test():
    figure = Figure("a figure", "1", MUTANT.test)
    other = Figure("another", "2", "tests/test_c.py::test_it")
    moved = "tests/test_b.py::test_it[one]"
    expected = [replace(figure, test=moved), other]
    assert with_tests([figure, other], {MUTANT.test: moved}) == expected
