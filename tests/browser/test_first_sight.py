"""What a new visitor sees and does first: the page at a glance, its theme, its form, and what it says of the run that is shown."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import PATIENCE, quiet
from .test_voila import TOKENS, field, fill, idle, opened

pytestmark = pytest.mark.browser

LIGHT = "document.body.dataset.jpThemeLight"
#: How the definitions of the five figures begin.
DEFINED = (
    "Tokens per second from",
    "Speed-up =",
    "Mean acceptance length =",
    "Acceptance rate =",
    "Drafting latency =",
)
TOP = "([x, y]) => document.elementFromPoint(x, y)?.className"
PALE_CHART = """() => {
  const title = document.querySelector(".hsd-chart .xtick text");
  return title && Math.min(...getComputedStyle(title).fill.match(/\\d+/g).map(Number)) > 150;
}"""


@pytest.fixture
def in_scheme(chromium, voila):
    """A page of a reader whose system is in a colour scheme, with storage of its own."""
    contexts = []

    def shown(scheme: str, query: str = ""):
        context = chromium.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(voila + query, wait_until="domcontentloaded")
        page.wait_for_selector(TOKENS)
        return page

    yield shown
    for context in contexts:
        context.close()


def test_the_page_at_a_glance(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    expect(page.locator(".hsd-header p")).to_contain_text("Speculative decoding:")
    stairs = page.locator(".hsd-stairs").bounding_box()
    assert stairs["y"] + stairs["height"] <= 1000, "the staircase is below the fold"
    # The end of the prompt and the first emitted tokens are visible, also where the prompt is longer than the pane.
    pane, last = page.locator(".hsd-scroll").bounding_box(), page.locator(".hsd-prompt .hsd-ptok").last.bounding_box()
    assert last["y"] >= pane["y"]
    written = page.locator(TOKENS).first.bounding_box()
    assert pane["y"] <= written["y"] and written["y"] + written["height"] < min(pane["y"] + pane["height"], 1000)
    # What a figure is shows at the keyboard's focus, too.
    for k, words in enumerate(
        ("Tokens per second from", "Speed-up =", "Mean acceptance length =", "Acceptance rate =", "Drafting latency =")
    ):
        term = page.locator(".hsd-tile .hsd-p-term").nth(k)
        term.focus()
        told = page.locator(".hsd-tile .hsd-p-tip").nth(k)
        expect(told).to_be_visible()
        expect(told).to_contain_text(words)
        box = told.bounding_box()
        top = page.evaluate(TOP, [box["x"] + box["width"] / 2, box["y"] + box["height"] - 6])
        assert top == "hsd-p-tip", f"the definition is covered by {top}"
    page.locator(".hsd-tour-button").click()
    expect(page.locator(".hsd-tour-card")).to_be_visible()
    shown.check()


@pytest.mark.slow
def test_the_theme_follows_the_system_until_one_is_chosen(in_scheme):
    page = in_scheme("dark")
    assert page.evaluate(LIGHT) == "false"
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.emulate_media(color_scheme="light")
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(0)
    field(page, "Theme").select_option("dark")
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    page.get_by_role("tab", name="Why", exact=True).click()
    # Charts are drawn in Python, which hears of the theme: its ink is light now.
    page.wait_for_function(PALE_CHART)
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    assert (page.evaluate(LIGHT), field(page, "Theme").input_value()) == ("false", "dark"), "the choice is remembered"
    field(page, "Theme").select_option("system")
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(0)


def test_an_address_that_asks_for_a_theme_has_it(in_scheme):
    page = in_scheme("dark", "?theme=light")
    assert page.evaluate(LIGHT) == "true"
    assert page.evaluate("localStorage.getItem('hsd_viz.theme')") is None, "a link decides for its page alone"


def test_the_form_says_what_it_cannot_take_and_the_page_names_the_run_it_shows(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    badge, run = page.locator(".hsd-badge"), page.get_by_role("button", name="Run", exact=True)
    fill(page, "Prompt", "日本 def f():\n")
    expect(field(page, "Prompt preset").locator("option:checked")).to_have_text("custom")
    for label, typed in (("Temperature", "1000"), ("New tokens", "0")):
        fill(page, label, typed)
        expect(field(page, label)).to_have_attribute("aria-invalid", "true")
        told = page.locator("#" + field(page, label).get_attribute("aria-describedby"))
        expect(told).to_have_text(re.compile(rf"^{label} must be a .*number from .*, not {typed}\.$"))
        expect(field(page, label)).to_have_value(typed)
    run.click()
    expect(page.get_by_role("alert").first).to_contain_text("New tokens must be a whole number from 1 to 2000, not 0")
    expect(badge).to_have_text("Recording")
    fill(page, "Temperature", "0,7")
    fill(page, "New tokens", "8")
    expect(field(page, "Temperature")).to_have_attribute("aria-invalid", "false")
    run.click()
    expect(badge).to_have_text("Finished run")
    idle(page)
    expect(page.locator(".hsd-foot")).to_contain_text("temperature 0.7")
    expect(field(page, "Temperature")).to_have_value("0,7")
    expect(page.locator(".hsd-prompt")).to_contain_text("日本 def f():")
    expect(field(page, "Recording").locator("option:checked")).to_have_text("Run decoded here")
    link = page.get_by_role("button", name="Copy link", exact=True)
    expect(link).to_have_attribute("aria-disabled", "true")
    link.dispatch_event("click")
    expect(page.locator(".hsd-address-said")).to_contain_text("Save it to share the file")
    text = page.locator(".hsd-out").text_content()
    # The tour shows recordings, and gives back what it found.
    page.get_by_role("button", name="Take the tour").click()
    expect(badge).to_have_text("Recording")
    expect(page.locator(".hsd-tour-card")).to_be_visible()
    page.keyboard.press("Escape")
    expect(badge).to_have_text("Finished run")
    expect(page.locator(".hsd-out")).to_have_text(text)
    shown.check()


@pytest.mark.parametrize(("tab", "stays"), [("Why", True), ("Time", True), ("Compare", False), ("Your traffic", False)])
def test_the_player_stays_before_what_follows_it(shared, tab, stays):
    page = shared.page
    page.get_by_role("tab", name=tab, exact=True).click()
    expect(page.locator(f".hsd-panel-{page.get_by_role('tab').all_text_contents().index(tab)}")).to_be_visible()
    page.locator("#rendered_cells").evaluate("page => page.scrollTo(0, 1e6)")
    quiet(page)
    box = page.locator(".hsd-player-row").bounding_box()
    assert (box["y"] >= -1) == stays


@pytest.fixture(scope="module")
def shared(chromium, voila):
    from .conftest import Page

    page = Page(chromium)
    page.page.set_viewport_size({"width": 1024, "height": 768})
    page.page.goto(voila, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    # However little there is in a tab, one can scroll through it.
    page.page.add_style_tag(content=".hsd-explorer { min-height: 3000px; }")
    assert page.page.locator(".hsd-player-row").bounding_box()["height"] < 84, "the buttons take more than their row"
    yield page
    page.page.close()


def test_a_strip_of_tabs_that_goes_on_says_so(open_page, voila):
    shown = opened(open_page, voila, 420)
    strip = shown.page.locator(".hsd-tabs").first
    expect(strip).to_have_class(re.compile("hsd-more-right"))
    shown.page.get_by_role("tab").last.click()
    expect(strip).to_have_class(re.compile("hsd-more-left"))
    expect(strip).not_to_have_class(re.compile("hsd-more-right"))
    shown.check()
