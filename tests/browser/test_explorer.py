"""The explorer through Voilà: the bar of the run, the text with its sources, the tabs and the
cursor.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import quiet
from .explorer import TABS, TOKENS, choose_of_run, opened, tab, violations

pytestmark = pytest.mark.browser

#: Pixels between the ends of the line and the passages that it connects.
LINK_ENDS = """() => {
  const path = document.querySelector(".hsd-link-line");
  const origin = document.querySelector(".hsd-text").getBoundingClientRect();
  const distance = (point, selector) => {
    const x = point.x + origin.left;
    const y = point.y + origin.top;
    const boxes = [...document.querySelectorAll(selector)].flatMap((e) => [...e.getClientRects()]);
    // A line of several rows of text ends in the margin, beside the row.
    const margin = Math.min(Math.abs(x - origin.left), Math.abs(x - origin.right));
    return Math.min(...boxes.map((box) => Math.hypot(
      Math.min(Math.max(box.left - x, 0, x - box.right), margin),
      Math.max(box.top - y, 0, y - box.bottom))));
  };
  const whole = path.getTotalLength();
  return {
    from: distance(path.getPointAtLength(0), ".hsd-lit"),
    to: distance(path.getPointAtLength(whole), ".hsd-out .hsd-copy"),
  };
}"""


def test_the_bar_of_the_run_is_one_row_and_its_menu_opens_by_keyboard(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    button = page.get_by_role("button", name=re.compile("^Run: files"))
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        for name in TABS[:4]:
            tab(page, name)
            bar = page.locator(".hsd-runbar").bounding_box()
            assert bar["height"] <= 52, f"{name} at {width}"
            tabs = page.get_by_role("tablist").bounding_box()
            subject = page.locator(".hsd-panel" if name != "Watch" else ".hsd-hero")
            assert abs(bar["y"] - tabs["y"] - tabs["height"]) <= 12
            if name != "Watch":
                assert subject.bounding_box()["y"] - bar["y"] - bar["height"] <= 30, name
    button.focus()
    page.keyboard.press("Enter")
    items = page.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(items.first).to_be_hidden()
    expect(button).to_be_focused()
    shown.check()


#: Heights of what a thumb hits above the text.
TARGETS = """() => [
  ...document.querySelectorAll(":is(.hsd-header, .hsd-tabs) :is(button, select)"),
  ...document.querySelectorAll(".hsd-runbar :is(button, select, [role=slider])"),
].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().height)"""
#: Pixels that a thumb needs, by the guideline of both phone systems.
THUMB = 44


def test_a_phone_has_targets_for_a_thumb(open_page, voila):
    shown = opened(open_page, voila, 420)
    assert min(shown.page.evaluate(TARGETS)) >= THUMB


@pytest.mark.parametrize("width", [1440, 420])
def test_a_pointer_over_the_text_moves_nothing(open_page, voila, width):
    shown = opened(open_page, voila, width)
    below = shown.page.locator(".hsd-readout")
    place = below.bounding_box()
    tokens = shown.page.locator(TOKENS)
    for k in (3, 12, 20):
        tokens.nth(k).hover()
        quiet(shown.page)
        assert below.bounding_box() == place


def test_a_copied_passage_is_connected_with_its_source(open_page, voila):
    """On first sight an example is; then the selected token, by its recorded position."""
    shown = opened(open_page, voila)
    page = shown.page
    line = page.locator(".hsd-link-line")
    expect(line).to_be_in_viewport()
    expect(page.locator(".hsd-prompt .hsd-lit").first).to_be_in_viewport()
    expect(page.locator(".hsd-copied")).to_contain_text("Copied from the prompt")
    before = line.get_attribute("d")
    copied = page.locator(".hsd-out .hsd-tok[data-family=context]").first
    copied.click()
    expect(line).not_to_have_attribute("d", before)
    source = page.locator(".hsd-prompt .hsd-lit").all_inner_texts()
    assert copied.inner_text() in source
    ends = page.evaluate(LINK_ENDS)
    assert ends["from"] <= 6
    assert ends["to"] <= 10
    # The target's own token was copied from nowhere.
    page.locator(".hsd-out .hsd-tok[data-kind=correction]").first.click()
    expect(line).to_have_count(0)
    expect(page.locator(".hsd-copied")).to_be_empty()
    shown.check()


def test_a_tab_is_read_from_its_beginning(open_page, voila):
    """Also where the page was scrolled: the tabs go to the top, with what a reader needs first."""
    shown = opened(open_page, voila)
    page = shown.page
    for name in (*TABS[1:], TABS[0]):
        page.evaluate("document.querySelector('.hsd-foot').scrollIntoView()")
        quiet(page)
        tab(page, name)
        main = page.locator(".hsd-main").bounding_box()
        assert main["y"] >= -1, name
    first = [".hsd-main > .hsd-headline", ".hsd-hero", ".hsd-text-view"]
    for part in first:
        expect(page.locator(part)).to_be_in_viewport(ratio=0.75)
    shown.check()


def test_the_cursor_is_one_for_keys_pointer_staircase_and_text(open_page, voila):
    shown = opened(open_page, f"{voila}?trace=both&step=5&tab=why")
    page = shown.page
    expect(page.locator(".hsd-out [aria-selected=true]")).to_have_count(1)
    slider = page.get_by_role("slider", name="Events of the run")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("event 5 of"))
    expect(page.get_by_role("tab", name="Why", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    slider.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("event 2 of"))
    page.keyboard.press("Shift+ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^Round 2 of"))
    page.keyboard.press("Enter")
    expect(page.locator(".hsd-rounds .hsd-stairs-pinned")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    expect(page.locator(".hsd-player-main")).to_have_attribute("aria-label", "Pause (Space)")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    # The text is closed beside a tab; a rejected token of it can be selected.
    expect(page.locator(".hsd-stream .hsd-legend")).to_be_hidden()
    assert page.locator(".hsd-text-view").bounding_box()["height"] < 100
    choose_of_run(page, "Show the text")
    expect(page.locator(".hsd-stream .hsd-legend")).to_be_visible()
    page.locator(".hsd-out .hsd-tok").first.click()
    ghost = page.locator(".hsd-out .hsd-ghost").first
    facts = page.locator(".hsd-stream .hsd-facts")
    expect(facts).to_be_attached()
    assert not facts.is_visible() and not ghost.is_visible(), "the page begins without details"
    page.get_by_role("checkbox", name="Details").check()
    ghost.click()
    expect(facts).to_be_visible()
    strip = slider.bounding_box()
    page.mouse.click(strip["x"] + strip["width"] / 2, strip["y"] + strip["height"] / 2)
    expect(page.locator(".hsd-rounds .hsd-stairs-later")).to_be_visible()
    # From the tabs, by keys alone.
    page.get_by_role("tab", name="Why", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Databases", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    assert "tab=databases" in page.url
    assert "trace=both" in page.url
    page.go_back()
    expect(page.get_by_role("tab", name="Why", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    # Databases shows who supplied the tokens, Time what the levels took; a ribbon lights the
    # tokens of its source.
    rows = {}
    for name in ("Databases", "Time"):
        tab(page, name)
        rows[name] = set(page.locator(".hsd-panel .hsd-tl-who").all_inner_texts())
    assert rows["Databases"] & rows["Time"] == {"rounds"}
    assert rows["Time"] > {"target", "idle"}
    ribbon = page.locator(".hsd-pn-ribbons g[tabindex]").first
    ribbon.focus()
    family = ribbon.get_attribute("data-family")
    expect(page.locator(".hsd-out .hsd-lit2")).to_have_count(
        page.locator(f".hsd-out .hsd-tok[data-family={family}]").count()
    )
    page.get_by_role("tab", name="Time", exact=True).focus()
    expect(page.locator(".hsd-out .hsd-lit2")).to_have_count(0)
    shown.check()
