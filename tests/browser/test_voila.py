"""The dashboard through Voilà: what people see, press and break."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.replay import bundled

from .conftest import quiet

pytestmark = pytest.mark.browser
expect.set_options(timeout=60_000)

TOKENS = ".hsd-out .hsd-tok"
#: Every figure is drawn, and as wide as its box.
FITTED = """() => {
  const charts = [...document.querySelectorAll(".hsd-chart-frame")];
  return charts.length > 3 && charts.every((chart) => {
    const svg = chart.querySelector(".main-svg")?.getBoundingClientRect();
    return svg && svg.height > 100 && Math.abs(svg.width - chart.getBoundingClientRect().width) < 4;
  });
}"""
NASTY = 'def f():\n    return "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"\n\n\ndef g():\n    return "<scr'


def field(page, label: str):
    return page.get_by_label(label, exact=True)


def fill(page, label: str, value: str) -> None:
    """Write into a field and leave it, so that the kernel hears of it. On a narrow page the form is opened first."""
    switch = page.locator(".hsd-form-switch")
    if switch.is_visible() and switch.get_attribute("aria-expanded") == "false":
        switch.click()
    field(page, label).fill(value)
    field(page, label).blur()


def opened(open_page, url: str, width: int = 1400):
    page = open_page(width)
    page.page.goto(url, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    return page


def idle(page) -> None:
    # On a narrow page the form may be closed.
    expect(page.locator(".hsd-controls .hsd-primary")).to_be_enabled()


@pytest.fixture(scope="module")
def shared(chromium, voila):
    """One page for the tests that follow one another, as one person would use it."""
    from .conftest import Page

    page = Page(chromium)
    page.page.goto(voila, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    yield page
    page.page.close()


def test_opens_on_a_recording_with_its_charts(shared):
    page = shared.page
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    page.get_by_role("tab", name="Why", exact=True).click()
    expect(page.locator(".hsd-chart .main-svg").first).to_be_visible()
    page.wait_for_function(FITTED)
    assert page.locator(".modebar-btn[data-title*='loud'], .modebar-btn[data-attr='sendChartToCloud']").count() == 0
    shared.check()


def test_hover_previews_click_pins_and_escape_lets_go(shared):
    page = shared.page
    token = page.locator(f'{TOKENS}[data-kind="accepted"]').first
    token.hover()
    expect(page.locator(".hsd-card .hsd-facts")).to_be_visible()
    token.click()
    page.mouse.move(4, 4)
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(1)
    card = page.locator(".hsd-card")
    for words in ("round", "draft position", "p at T = 1", "entropy", "Target's top 5"):
        expect(card).to_contain_text(words)
    expect(card.locator("tr.hsd-mine")).to_have_count(1)
    first = page.locator(".hsd-out .hsd-pinned").get_attribute("data-i")
    page.locator(".hsd-out").focus()
    page.keyboard.press("ArrowRight")
    assert int(page.locator(".hsd-out .hsd-pinned").get_attribute("data-i")) == int(first) + 1
    page.keyboard.press("Shift+ArrowRight")
    assert int(page.locator(".hsd-out .hsd-pinned").get_attribute("data-i")) > int(first) + 1
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(0)
    page.keyboard.press("End")
    expect(page.locator(f"{TOKENS}.hsd-on")).to_have_count(1)
    shared.check()


def test_a_copied_token_lights_up_the_place_it_was_copied_from(shared):
    page = shared.page
    copied = page.locator(f'{TOKENS}[data-family="context"]').first
    copied.click()
    expect(page.locator(".hsd-lit")).to_have_count(1)
    assert page.locator(".hsd-lit").text_content() == copied.text_content()
    copied.click()
    shared.check()


def test_a_live_run_streams_tokens_with_their_sources(shared):
    page = shared.page
    fill(page, "Stack", "db > nano:4 > target")
    # Ctrl+Enter runs, and takes the number that the field has not committed yet.
    field(page, "New tokens").fill("48")
    field(page, "New tokens").press("Control+Enter")
    expect(page.locator(TOKENS)).to_have_count(48)
    idle(page)
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    families = set(page.eval_on_selector_all(TOKENS, "all => all.map(t => t.dataset.family)"))
    assert "target" in families
    assert len(families) > 1
    expect(page.locator(".hsd-origin-stack")).to_have_text("db > nano:4 > target")
    expect(page.locator(".hsd-tile").first).to_contain_text("tokens/s")
    shared.check()


def test_bad_stack_text_shows_a_card_and_a_run_after_it_works(shared):
    page = shared.page
    fill(page, "Stack", "db > > target")
    notice, blocks = page.get_by_role("alert"), page.locator(".hsd-blk-error")
    expect(blocks).to_contain_text("is empty: separate the parts with '>'")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(notice).to_contain_text("is empty")
    fill(page, "Stack", "some/model > target")
    expect(blocks).to_contain_text("'some/model' is not allowed on this page")
    fill(page, "Stack", "target")
    expect(notice).to_have_count(0)
    fill(page, "New tokens", "8")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(TOKENS)).to_have_count(8)
    idle(page)
    shared.check()


def test_cancel_stops_the_run_and_keeps_what_there_is(shared):
    page = shared.page
    fill(page, "Stack", "target")
    fill(page, "New tokens", "1500")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(
        "document.querySelectorAll('.hsd-out .hsd-tok').length > 12 && document.querySelector('.hsd-live')"
    )
    page.get_by_role("button", name="Cancel", exact=True).click()
    idle(page)
    kept = page.locator(TOKENS).count()
    assert 12 < kept < 1500
    expect(page.locator(".hsd-foot")).to_contain_text("cancelled")
    quiet(page)
    assert page.locator(TOKENS).count() == kept
    shared.check()


def test_markup_in_the_text_is_shown_as_text(shared):
    page = shared.page
    fill(page, "Prompt", NASTY)
    fill(page, "New tokens", "16")
    page.get_by_role("button", name="Run", exact=True).click()
    # A short run may be over before anyone sees it run: its prompt tells that it began.
    expect(page.locator(".hsd-prompt")).to_contain_text("<script>window.pwned=1</script>")
    idle(page)
    assert page.locator(".hsd-stream script, .hsd-stream img").count() == 0
    assert page.evaluate("window.pwned") is None
    shared.check()


def test_a_recording_can_be_replayed_and_picked_again(shared):
    page = shared.page
    picker = field(page, "Recording")
    picker.select_option(label=bundled()[1].label)
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    whole = page.locator(TOKENS).count()
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.locator(".hsd-badge")).to_have_text("Replay")
    idle(page)
    expect(page.locator(TOKENS)).to_have_count(whole)
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    shared.check()


@pytest.mark.parametrize("width", [1400, 420])
def test_dark_theme_and_narrow_page(open_page, voila, width):
    shown = opened(open_page, voila + "?theme=dark", width)
    page = shown.page
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    page.get_by_role("tab", name="Why", exact=True).click()
    expect(page.locator(".hsd-chart .main-svg").first).to_be_visible()
    ink = page.eval_on_selector(".hsd-tile-value", "e => getComputedStyle(e).color")
    assert min(map(int, re.findall(r"\d+", ink)[:3])) > 150
    # Nothing makes the page scroll sideways.
    assert page.evaluate("document.querySelector('.hsd-app').scrollWidth <= innerWidth")
    # The form is closed until it is asked for.
    assert page.locator(".hsd-controls").bounding_box() is None
    shown.check()
