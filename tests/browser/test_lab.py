"""The dashboard and single views in JupyterLab cells, where a page reload meets a kernel that
continued.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .explorer import TOKENS, field

pytestmark = pytest.mark.browser


#: Whether the link to skip is what a pointer meets at its place.
COVERED = """() => {
  const link = document.querySelector(".hsd-skip");
  link.scrollIntoView({ block: "center" });
  const { left, top, width, height } = link.getBoundingClientRect();
  return document.elementFromPoint(left + width / 2, top + height / 2) === link;
}"""


def run_all(page) -> None:
    # Before the kernel has answered, "Run All Cells" goes through the cells and runs none.
    expect(page.locator(".jp-StatusBar-Widget")).to_contain_text("| Idle")
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


@pytest.mark.slow
def test_the_page_runs_in_a_cell(open_page, lab):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}dashboard.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    assert page.locator(".hsd-theme").count() == 0, "JupyterLab has its own theme menu"
    # The link to skip to the run covers nothing until it has the focus, and is seen then.
    assert page.evaluate(COVERED) is False
    skip = page.locator(".hsd-skip")
    skip.focus()
    assert page.evaluate(COVERED) is True
    skip.blur()
    # JupyterLab has a ring of its own for buttons.
    page.locator(".hsd-form-switch").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".hsd-form-switch")).to_have_css("outline-width", "2px")
    page.locator(".hsd-form-switch").click()
    field(page, "New tokens").fill("24")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(TOKENS)).to_have_count(24)
    # Keys of the text are not JupyterLab's while it has the focus: "d d" would delete the cell.
    page.locator(".hsd-out").focus()
    for key in ("End", "d", "d", "Escape"):
        page.keyboard.press(key)
    expect(page.locator(TOKENS)).to_have_count(24)
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
    # JupyterLab has a style of its own for such lists, on served pages too.
    expect(page.locator(".hsd-card .hsd-facts")).to_have_css("display", "grid")
    page.locator(".jp-RenderedPlotly").first.scroll_into_view_if_needed()
    expect(page.locator(".jp-RenderedPlotly .main-svg").first).to_be_visible()
    shown.check()
