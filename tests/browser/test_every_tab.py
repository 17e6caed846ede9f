"""Every tab of the explorer, wide and narrow, light and dark: proportions and accessibility."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import quiet
from .explorer import TABS, TOKENS, opened, tab, violations

pytestmark = pytest.mark.browser

#: Pixels by which the page is wider than its window.
EXCESS_WIDTH = """() => {
  const app = document.querySelector(".hsd-app");
  return app.scrollWidth - app.clientWidth;
}"""
HEIGHT = "document.querySelector('.hsd-app').getBoundingClientRect().height"
#: Pixels that the page is high at most with each tab, on a screen of 1440 × 900: what a reader
#: needs first is open.
MAX_HEIGHTS = {
    "Watch": 1300,
    "Why": 1500,
    "Databases": 1650,
    "Time": 2000,
    "Compare": 2900,
    "Your traffic": 2350,
}
#: Pixels between the last content of a tab and what follows it.
EMPTY_END = """() => {
  const panel = document.querySelector(".hsd-panel");
  const isContent = (e) =>
    e.checkVisibility() && !e.querySelector(":scope > *") && e.getClientRects().length;
  const ends = [...panel.querySelectorAll("*")]
    .filter(isContent)
    .map((e) => e.getBoundingClientRect().bottom);
  return panel.getBoundingClientRect().bottom - Math.max(...ends);
}"""
#: Controls that come before the first generated token by the Tab key: of the tabs, one.
CONTROLS_BEFORE_TEXT = """() => {
  const top = document.querySelector(".hsd-out").getBoundingClientRect().top;
  const focusable = ":is(a[href], button, input, select, textarea, summary, [tabindex='0'])";
  const all = document.querySelectorAll(`.hsd-app ${focusable}:not([tabindex='-1'])`);
  const isDrawn = (e) =>
    e.checkVisibility({ contentVisibilityAuto: true }) && !e.closest(".hsd-scroll");
  const isBefore = ({ top: start, bottom }) => bottom > 0 && start < top;
  return [...all].filter((e) => isDrawn(e) && isBefore(e.getBoundingClientRect())).length;
}"""
#: The heights of the counts of further rejected tokens.
COUNT_HEIGHTS = """() => [...document.querySelectorAll(".hsd-stream .hsd-more")]
  .map((e) => e.getBoundingClientRect().height)"""


@pytest.mark.parametrize(("scheme", "widths"), [("light", (1440, 420)), ("dark", (420, 1440))])
def test_every_tab_is_drawn_and_accessible(open_page, voila, scheme, widths):
    shown = opened(open_page, f"{voila}?theme={scheme}", widths[0])
    page = shown.page
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("scrollTo(0, 0)")
        quiet(page)
        assert page.evaluate("localStorage.getItem('hsd_viz.theme')") is None, (
            "a link decides for its page alone"
        )
        check_first_screen(page, width)
        for name in TABS:
            check_tab(page, name)
            if widths[0] == width == 1440:  # before parts are opened
                assert page.evaluate(HEIGHT) <= MAX_HEIGHTS[name], f"{name} is out of proportion"
            check_last_part(page, name, width)
        tab(page, "Watch")
        heights = page.evaluate(COUNT_HEIGHTS)
        assert max(heights, default=0) < 40, "a count is part of its line"
    shown.check()


def check_first_screen(page, width: int) -> None:
    """The prompt comes before the answer: what was copied is there."""
    assert page.locator(TOKENS).first.bounding_box()["y"] <= (440 if width > 900 else 570)
    assert page.evaluate(CONTROLS_BEFORE_TEXT) <= 20
    expect(page.locator(".hsd-header p")).to_contain_text("Speculative decoding:")


def check_tab(page, name: str) -> None:
    """Open a tab from the beginning of the page: it is whole, accessible and below the header."""
    page.evaluate("document.querySelector('.hsd-app').scrollIntoView()")
    quiet(page)
    header = page.locator(".hsd-header").bounding_box()
    bar = page.get_by_role("tablist").bounding_box()
    below = bar["y"] - header["y"] - header["height"]
    assert 0 <= below <= 12, f"before {name}: the tabs are below the header"
    tab(page, name)
    assert page.evaluate(EMPTY_END) <= 80, f"{name} ends with nothing"
    assert page.evaluate(EXCESS_WIDTH) <= 0, f"{name} is wider than the page"
    assert page.locator(".hsd-notice:not([hidden])").count() == 0, name
    assert violations(page) == [], name


def check_last_part(page, name: str, width: int) -> None:
    """A link to a part of the tab, where there are any, leads to the part."""
    links = page.get_by_role("navigation", name="Parts of this tab").get_by_role("link")
    if not links.count():
        return
    links.last.click()
    part = page.get_by_role("group", name=links.last.inner_text(), exact=True)
    expect(part).to_be_focused()
    expect(part).to_be_in_viewport()
    if width > 900 and name not in ("Compare", "Your traffic"):
        expect(page.locator(".hsd-player-main")).to_be_in_viewport()
