"""Every notebook runs from top to bottom, and none is committed with outputs or widget state."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tests.rows import select

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
#: Lessons run in the tests of the exercises, without a kernel; one of them runs here.
LESSONS = sorted(FOLDER.glob("course/student/*.ipynb"))
RUN = [*sorted(FOLDER.glob("*.ipynb")), LESSONS[0]]
#: Matches the line of a cell that draws a figure.
DRAWS = re.compile(r"^(hsd\.views\.show_figure|intervals|lines|with_slider)\(", re.M)


def stem(path):
    return path.stem


@pytest.mark.parametrize("path", [*RUN, *LESSONS[1:]], ids=stem)
def test_is_committed_without_outputs_or_state(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in select(notebook.cells, cell_type="code"):
        assert cell.execution_count is None
        # The figures of the lessons, for pages that show files only.
        for output in cell.outputs:
            assert set(output["data"]) == {"image/svg+xml", "text/plain"}
        drawn = DRAWS.search(cell.source)
        assert not cell.outputs or (path in LESSONS and drawn)


@pytest.mark.parametrize("path", RUN, ids=stem)
def test_runs(path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown += [output.get("data", {}) for output in cell.outputs]
    assert any("application/vnd.jupyter.widget-view+json" in data for data in shown)
    questions = sum('class="question"' in data.get("text/html", "") for data in shown)
    assert questions == (path in LESSONS)
