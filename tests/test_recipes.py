"""The recipes of the docs run as they are written, and the catalogue of views is complete."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import hsd_viz as hsd
from hsd_viz.cli import main
from tools.reference import views_page

DOCS = Path(__file__).resolve().parent.parent / "docs"


def blocks(page: str, language: str = "python") -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)
    return [code for name, code in fenced if name == language]


def test_the_sweep_runs_as_written(tmp_path, monkeypatch, capsys):
    """With fewer and shorter outputs."""
    monkeypatch.chdir(tmp_path)
    [command] = blocks("how-to/sweep.md", "")
    words = shlex.split(command)[1:]
    words[words.index("--limit") + 1] = "2"
    words[words.index("--max-new-tokens") + 1] = "8"
    assert main([*words, "--repeats", "1"]) in (0, None)
    names: dict = {}

    for code in blocks("how-to/sweep.md"):
        exec(code, names)

    table = names["table"]
    assert list(table["lookahead"]) == [1, 2, 4, 8]
    assert (table["low"] <= table["speedup_over_plain"]).all()
    assert (table["speedup_over_plain"] <= table["high"]).all()
    assert set(names["kinds"].index) == {"target", *table["stack"]}
    assert (tmp_path / "sweep.html").stat().st_size > 10_000
    assert (tmp_path / "sweep.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "mean_acceptance_length" in capsys.readouterr().out


def test_the_catalogue_has_every_view():
    assert set(views_page.LINES) == set(hsd.views.__all__)


@pytest.mark.parametrize("line", views_page.LINES.values(), ids=lambda line: line.name)
def test_a_line_of_the_catalogue_runs_and_names_its_view(line):
    value = eval(line.code, views_page.names())

    assert f"hsd.views.{line.name}" in line.code
    if line.drawn:
        assert type(value).__name__ == line.name
        assert views_page.picture_of(line).is_file(), "run `python -m tools.docs.pictures views`"
