"""Every notebook runs from top to bottom, and none is committed with outputs or widget state."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("**/*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if ".ipynb_checkpoints" not in path.parts]
names = [path.stem for path in NOTEBOOKS]
#: Lessons run in the tests of the exercises, without a kernel; one of them runs here.
LESSONS = [path for path in NOTEBOOKS if "course" in path.parts]
RUN = [path for path in NOTEBOOKS if path not in LESSONS[1:]]


def test_there_are_notebooks():
    assert {"dashboard", "first_steps"} <= set(names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names)
def test_is_committed_without_outputs_or_state(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.execution_count is None
            # The figures of the lessons, for pages that show files only.
            assert all(set(o["data"]) == {"image/svg+xml", "text/plain"} for o in cell.outputs)
            assert not cell.outputs or (path in LESSONS and "hsd.views.show(figure)" in cell.source)


@pytest.mark.parametrize("path", RUN, ids=[path.stem for path in RUN])
def test_runs(path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in shown)
    questions = [output for output in shown if "data-shuffleanswers" in output.get("data", {}).get("text/html", "")]
    assert len(questions) == (path in LESSONS)
