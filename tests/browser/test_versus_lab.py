"""Runs side by side in a JupyterLab notebook of one's own: the view in a cell, its keys, its race, and recordings chosen by the kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import ROOT
from .test_lab import run_all

pytestmark = pytest.mark.browser

#: ``v.pinned`` is printed by a later cell, so that the kernel's side is seen, too.
CELLS = (
    "import hsd_viz as hsd\nv = hsd.views.Versus()\nv",
    "print('pinned at', v.pinned, 'of', [r['stack'] for r in v.data['runs']])",
)


@pytest.fixture
def notebook(lab, tmp_path_factory) -> str:
    """The address of a notebook with these cells, in the folder that the Lab serves."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{k}",
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for k, source in enumerate(CELLS)
    ]
    kernel = json.loads((ROOT / "notebooks" / "first_steps.ipynb").read_text(encoding="utf-8"))["metadata"][
        "kernelspec"
    ]
    page = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder,) = {p.resolve() for p in Path(tmp_path_factory.getbasetemp()).glob("lab*/notebooks") if p.is_dir()}
    (folder / "versus.ipynb").write_text(json.dumps(page), encoding="utf-8")
    return f"{lab}versus.ipynb?reset"


@pytest.mark.slow
def test_runs_side_by_side_in_a_notebook(open_page, notebook):
    shown = open_page()
    page = shown.page
    page.goto(notebook, wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    page.wait_for_selector(".hsd-vs-col")
    expect(page.locator(".hsd-vs-lane")).to_have_count(3)
    here = page.locator(".hsd-vs-readout-head > span").first
    score = page.locator(".hsd-vs-score")
    # Keys of the texts are not the notebook's: x cuts a cell, a adds one, the arrows change it, Enter edits it.
    score.focus()
    cells = page.locator(".jp-Notebook .jp-CodeCell").count()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "x", "a", "d", "d"):
        page.keyboard.press(key)
    expect(here).to_have_text("Output position 2 of 128")
    page.keyboard.press("Enter")
    expect(here).to_have_text("Output position 2 of 128, pinned")
    expect(score).to_be_focused()
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(cells)
    # The race, by key and by pointer, at a speed that can be watched.
    page.get_by_label("Speed of the race").select_option("0.1")
    score.focus()
    page.keyboard.press("Space")
    expect(page.locator(".hsd-vs-notyet").first).to_be_attached()
    page.get_by_role("button", name="Pause").click()
    stood = page.locator(".hsd-vs-clock").text_content()
    slider = page.get_by_label("Time of the race")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator(".hsd-vs-clock")).not_to_have_text(stood)
    expect(page.locator(".hsd-vs-notyet")).to_have_count(0)
    # What is chosen here, the kernel opens; what it refuses is read out.
    page.get_by_role("button", name="Two draft models", exact=True).click()
    expect(page.locator(".hsd-vs-refusal")).to_have_text("Four runs are too many to compare: select two or three.")
    page.get_by_role("button", name="Databases", exact=True).click()
    expect(page.locator(".hsd-vs-lane .hsd-vs-stack").nth(1)).to_have_text("nano:4 > small:8 > target")
    expect(page.get_by_role("region", name="Distributions")).to_contain_text("Tokens per target forward pass")
    score.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(here).to_have_text("Output position 128 of 128, pinned")
    # And the kernel knows where the reader is.
    page.locator(".jp-CodeCell").last.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output")).to_contain_text(
        "pinned at 127 of ['target', 'nano:4 > small:8 > target'"
    )
    shown.check()
