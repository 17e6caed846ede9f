"""The dashboard as an explorer: one cursor for text, player and tabs, sections that open when asked, reports of one's own."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from .conftest import ROOT, Page, quiet
from .test_voila import TOKENS

pytestmark = pytest.mark.browser
BENCH = ROOT / "docs" / "bench"
#: What must be seen in each tab.
SEEN = {
    "Watch": [".hsd-tiles", ".hsd-rd-strip path"],
    "Why": [".hsd-linked", ".hsd-chart .main-svg"],
    "Databases": [".hsd-latency svg", ".hsd-chart .main-svg"],
    "Time": [".hsd-linked", ".hsd-graph svg", ".hsd-whatif", ".hsd-chart .main-svg"],
    "Compare": [".hsd-vs-col", ".hsd-vs-track", ".hsd-report table"],
    "Your traffic": [".hsd-drop", ".hsd-lines textarea"],
}


@pytest.fixture(scope="module")
def shared(chromium, voila):
    """One page for the tests that follow one another, as one person would use it."""
    page = Page(chromium)
    page.page.goto(voila, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    page.page.wait_for_selector(".hsd-player-bar")
    yield page
    page.page.close()


def titles(page) -> list[str]:
    return page.get_by_role("tab").all_text_contents()


def open_tab(page, title: str) -> None:
    page.get_by_role("tab", name=title, exact=True).click()
    expect(page.get_by_role("tab", name=title, exact=True)).to_have_attribute("aria-selected", "true")
    for what in SEEN[title]:
        expect(page.locator(f".hsd-explorer {what}").locator("visible=true").first).to_be_visible()


def place(page) -> list[int]:
    """Round and event that the player names."""
    words = page.locator(".hsd-player-place").text_content().replace(",", "").split()
    return [int(words[1]), int(words[5])]


def test_the_player_goes_through_the_run_and_the_text_follows(shared):
    page = shared.page
    bar = page.get_by_role("slider", name="Events of the run")
    page.get_by_role("button", name="Next event (→)").click()
    assert place(page) == [1, 1]
    page.get_by_role("button", name="Next round (Shift →)").click()
    assert place(page)[0] == 2
    page.get_by_role("button", name="Next token (.)").click()
    out = page.locator(TOKENS).count() - page.locator(f"{TOKENS}.hsd-later").count()
    page.get_by_role("button", name="Next token (.)").click()
    assert page.locator(TOKENS).count() - page.locator(f"{TOKENS}.hsd-later").count() == out + 1
    page.get_by_role("button", name="Previous token (,)").click()
    # What is not out yet at the cursor is dimmed, and still there.
    dimmed, tokens = page.locator(f"{TOKENS}.hsd-later").count(), page.locator(TOKENS).count()
    assert 0 < dimmed < tokens
    box = bar.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 10)
    assert page.locator(f"{TOKENS}.hsd-later").count() < dimmed
    middle = place(page)
    expect(page.locator(f"{TOKENS}.hsd-on")).to_have_count(1)
    assert bar.get_attribute("aria-valuenow") == str(middle[1])
    for key, moved in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        bar.press(key)
        assert place(page)[1] == middle[1] + moved
    here = place(page)[0]
    bar.press("Shift+ArrowRight")
    assert place(page)[0] == here + 1
    bar.press("End")
    assert place(page)[1] == int(bar.get_attribute("aria-valuemax"))
    bar.press("Home")
    assert place(page) == [1, 1]
    bar.press("Escape")
    expect(page.locator(f"{TOKENS}.hsd-later")).to_have_count(0)
    shared.check()


def test_space_plays_to_the_end_and_escape_stops(shared):
    page = shared.page
    page.get_by_label("Speed", exact=True).select_option("40")
    bar = page.get_by_role("slider", name="Events of the run")
    bar.press("Home")
    bar.press("Space")
    expect(page.get_by_role("button", name="Pause (Space)")).to_be_visible()
    page.wait_for_function("+document.querySelector('.hsd-player-bar').getAttribute('aria-valuenow') > 8")
    bar.press("Space")
    expect(page.get_by_role("button", name="Play (Space)")).to_be_visible()
    at = place(page)
    quiet(page)
    assert place(page) == at, "paused, it stays"
    page.get_by_label("Speed", exact=True).select_option("recorded")
    bar.press("Space")
    last = bar.get_attribute("aria-valuemax")
    page.wait_for_function(f"document.querySelector('.hsd-player-bar').getAttribute('aria-valuenow') === '{last}'")
    expect(page.get_by_role("button", name="Play (Space)")).to_be_visible()
    page.get_by_role("button", name="Show whole text").click()
    expect(page.get_by_role("button", name="Show whole text")).to_be_hidden()
    shared.check()


def test_a_token_pinned_in_the_text_is_where_the_player_stands(shared):
    page = shared.page
    token = page.locator(f'{TOKENS}[data-kind="correction"]').nth(3)
    token.click()
    page.mouse.move(4, 4)
    expect(page.locator(".hsd-player-words")).to_contain_text("correction")
    expect(page.locator(".hsd-stairs-pinned")).to_have_count(1)
    words = page.locator(".hsd-out .hsd-pinned").get_attribute("aria-label")
    assert words.endswith(f"round {place(page)[0]}")
    page.get_by_role("slider", name="Events of the run").press("ArrowLeft")
    # The event before is the verdict on what the target turned down at this place.
    expect(page.locator(".hsd-player-words")).to_contain_text("is rejected")
    expect(page.locator(".hsd-card .hsd-event")).to_contain_text("is rejected")
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(0)
    shared.check()


def test_round_and_timeline_follow_the_cursor(shared):
    page = shared.page
    bar = page.get_by_role("slider", name="Events of the run")
    for title in ("Why", "Time"):
        open_tab(page, title)
        panel = page.get_by_role("tabpanel", name=title)
        bar.press("Home")
        expect(panel).to_contain_text(re.compile(r"Round 1\b"))
        for _ in range(4):
            bar.press("Shift+ArrowRight")
        assert place(page)[0] == 5
        expect(panel).to_contain_text(re.compile(r"Round 5\b"))
    bar.press("Escape")
    shared.check()


def test_sections_open_and_show_their_views(shared):
    page = shared.page
    found = titles(page)
    assert found == list(SEEN)
    for title in found:
        open_tab(page, title)
        panel = page.get_by_role("tabpanel", name=title)
        expect(panel).to_be_visible()
        expect(panel.locator(".hsd-lede").first).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("tab", name=found[-1], exact=True).press("Home")
    expect(page.get_by_role("tab", name=found[0], exact=True)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name=found[-1], exact=True)).to_have_attribute("aria-selected", "true")
    shared.check()


def test_the_player_stays_in_sight_beside_what_it_moves(shared):
    page = shared.page
    open_tab(page, "Databases")
    page.locator(".hsd-tabs").scroll_into_view_if_needed()
    page.get_by_role("tabpanel", name="Databases").evaluate("e => e.scrollIntoView({block: 'end'})")
    box = page.locator(".hsd-player-row").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 1000
    shared.check()


def test_the_law_stands_on_the_run_shown_when_asked_to(shared):
    page = shared.page
    open_tab(page, "Time")
    page.get_by_label("Costs and acceptance from", exact=True).select_option(label="the run shown")
    expect(page.locator(".hsd-hierarchy .hsd-source")).to_contain_text("estimated from the run shown")
    shared.check()


def test_reports_open_from_a_list_and_from_a_file(shared, tmp_path):
    page = shared.page
    open_tab(page, "Compare")
    menu = page.get_by_label("Report", exact=True)
    assert len(menu.locator("option").all_text_contents()) > 3
    broken = tmp_path / "broken.json"
    broken.write_text('{"stacks": [1')
    page.locator(".hsd-panel .hsd-open input").set_input_files(broken)
    expect(page.get_by_role("alert")).to_contain_text("broken.json is not a report of hsd-viz bench --json")
    page.locator(".hsd-panel .hsd-open input").set_input_files(BENCH / "heldout-t1-cpu.json")
    expect(page.locator(".hsd-report-intro").first).to_contain_text("temperature 1")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(menu).to_have_value("opened file")
    # The fastest stands first.
    measured = json.loads((BENCH / "heldout-t1-cpu.json").read_text(encoding="utf-8"))["stacks"]
    fastest = max(measured, key=lambda s: s["speedup_over_plain"] or 0.0)["stack"]
    assert page.locator(".hsd-report tbody tr").first.locator("code").text_content() == fastest
    shared.check()


def test_sections_follow_another_recording(shared):
    page = shared.page
    open_tab(page, "Databases")
    picker = page.get_by_label("Recording", exact=True)
    stack = page.locator(".hsd-origin-stack").text_content()
    titles = picker.locator("option").all_text_contents()
    picker.select_option(label=next(title for title in titles if "two\u00a0draft\u00a0models" in title))
    expect(page.locator(".hsd-origin-stack")).not_to_have_text(stack)
    new = page.locator(".hsd-origin-stack").text_content()
    expect(page.locator(".hsd-panel .hsd-source", has_text=new).first).to_be_visible()
    expect(page.locator(".hsd-player-place")).to_contain_text("events in")
    shared.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.slow
def test_every_section_fits_a_narrow_page(open_page, voila, theme):
    shown = open_page(420)
    page = shown.page
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{voila}?theme={theme}", wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    expect(page.get_by_label("Speed", exact=True)).to_have_value("1")
    for title in titles(page):
        open_tab(page, title)
        assert page.evaluate("document.querySelector('.hsd-app').scrollWidth <= innerWidth"), title
        widest = page.evaluate(
            """() => Math.max(...[...document.querySelectorAll(".hsd-panel p, .hsd-panel h3, .hsd-panel select, .hsd-panel button")]
              .filter((e) => e.offsetParent).map((e) => e.getBoundingClientRect().right))"""
        )
        assert widest <= 420, title
    player = page.locator(".hsd-player")
    assert player.evaluate("e => e.scrollWidth <= e.clientWidth")
    shown.check()
