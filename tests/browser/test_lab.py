"""The same dashboard in a JupyterLab cell, where a page reload meets a kernel that went on."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hsd_viz.exercises import quiz

from .test_voila import FITTED, TOKENS, fill, idle

pytestmark = pytest.mark.browser


def run_all(page) -> None:
    # Before the kernel has answered, "Run All Cells" goes through the cells and runs none.
    expect(page.locator(".jp-StatusBar-Widget")).to_contain_text("| Idle")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


@pytest.mark.slow
def test_runs_in_a_cell_and_survives_a_reload(open_page, lab):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}dashboard.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    page.get_by_role("tab", name="Why", exact=True).click()
    page.wait_for_function(FITTED)
    fill(page, "Stack", "db > target")
    fill(page, "New tokens", "24")
    page.get_by_role("button", name="Run", exact=True).click()
    idle(page)
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(TOKENS)).to_have_count(24)
    # Keys that the stream uses are not JupyterLab's while it has the focus: "d d" would delete the cell.
    page.locator(".hsd-out").focus()
    for key in ("End", "d", "d", "Escape"):
        page.keyboard.press(key)
    expect(page.locator(TOKENS)).to_have_count(24)
    page.locator(f"{TOKENS}").last.click()
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(1)
    expect(page.locator(".hsd-card .hsd-facts")).to_be_visible()
    with page.expect_response(lambda r: "/api/contents/" in r.url and r.request.method == "PUT"):
        page.locator('.jp-NotebookPanel-toolbar [data-jp-item-name="save"]').click()
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    expect(page.locator(TOKENS)).to_have_count(24)
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    # The kernel went on: the page can run again, and a reload in the middle of a run loses no token.
    fill(page, "Stack", "target")
    fill(page, "New tokens", "400")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(
        "document.querySelector('.hsd-live') && document.querySelectorAll('.hsd-out .hsd-tok').length > 5"
    )
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    idle(page)
    expect(page.locator(TOKENS)).to_have_count(400)
    shown.check()


@pytest.mark.slow
def test_first_steps_shows_the_stream_and_its_charts(open_page, lab):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}first_steps.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    page.wait_for_selector(TOKENS)
    stream = page.locator(".hsd-stream")
    stream.scroll_into_view_if_needed()
    page.locator(f'{TOKENS}[data-kind="accepted"]').first.hover()
    expect(page.locator(".hsd-card .hsd-facts")).to_be_visible()
    page.locator(".jp-RenderedPlotly").first.scroll_into_view_if_needed()
    expect(page.locator(".jp-RenderedPlotly .main-svg").first).to_be_visible()
    shown.check()


@pytest.mark.slow
def test_the_questions_of_a_lesson_are_drawn_and_judged_without_a_network(open_page, lab):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}course/student/1-one-pass-many-tokens.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    cell = page.locator(".jp-CodeCell", has_text='quiz("1")')
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".Quiz")).to_have_count(3)
    right = next(a for a in quiz("1").questions[0]["answers"] if a["correct"])
    cell.get_by_text(right["answer"], exact=True).click()
    expect(cell.get_by_text(right["feedback"])).to_be_visible()
    shown.check()
