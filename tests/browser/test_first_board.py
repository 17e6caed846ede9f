"""The first board of a site, which is painted before the script of the game: the game takes it
over, and nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.test_tab import serving

pytestmark = pytest.mark.browser

#: Class, text and edges of each element of the game, in CSS pixels.
BOXES = """() => [...document.querySelectorAll(".hsd-game, .hsd-game *")].map((el) => {
  const { left, top, right, bottom } = el.getBoundingClientRect();
  const text = el.childElementCount ? "" : el.textContent.trim();
  return [el.className, text, [left, top, right, bottom]];
})"""
HEADING = "document.querySelector('h1').getBoundingClientRect().top"
LIVE = ".hsd-game:not([inert]) .hsd-gm-choice"


@pytest.fixture(scope="module")
def address(built_site) -> Iterator[str]:
    with serving(built_site) as url:
        yield url


@pytest.mark.parametrize("seed", [0, 1], ids=["months", "days"])
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
@pytest.mark.parametrize("width", [1440, 420])
def test_the_game_takes_its_first_board_over_and_nothing_moves(
    chromium, address, width, language, seed
):
    context = chromium.new_context(viewport={"width": width, "height": 900}, locale=language)
    page = context.new_page()
    held = []
    page.route("**/hsd-viz.js", lambda route: held.append(route))
    page.goto(f"{address}?game={seed}", wait_until="domcontentloaded")
    board = page.locator(".hsd-game[inert]")
    expect(board).to_be_visible()
    expect(board.locator(".hsd-gm-choice").first).to_be_visible()
    painted = page.evaluate(BOXES)
    heading = page.evaluate(HEADING)

    for route in held:
        route.continue_()
    page.locator(LIVE).first.wait_for()
    live = page.evaluate(BOXES)
    assert page.evaluate(HEADING) == heading
    assert [element[:2] for element in live] == [element[:2] for element in painted]
    for (name, _, before), (_, _, after) in zip(painted, live, strict=True):
        assert after == pytest.approx(before, abs=0.1), name
    context.close()


def test_a_page_of_a_folder_links_the_recorded_game(chromium, built_site):
    page = chromium.new_page()
    page.goto((built_site / "index.html").as_uri())
    link = page.get_by_role("link", name="Play with recorded runs")
    expect(link).to_have_attribute("href", "recordings.html?game=0")
    expect(page.locator(".hsd-game")).to_have_count(0)
    page.close()


def test_the_article_has_summaries_in_the_language_of_the_game(chromium, address):
    context = chromium.new_context(locale="zh-CN")
    page = context.new_page()
    page.goto(address)
    page.locator(LIVE).first.wait_for()
    summaries = page.locator("main [lang=zh-CN].zh")
    assert summaries.count() >= 8
    expect(summaries.first).to_be_visible()
    page.get_by_role("button", name="English").click()
    for summary in summaries.all():
        expect(summary).to_be_hidden()
    context.close()


def test_the_article_shows_the_visitors_own_game(chromium, address):
    """After all texts, their button leads to the words of the text with the most passes."""
    page = chromium.new_page()
    page.set_default_timeout(120_000)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}?game=0")
    page.locator(LIVE).first.wait_for()
    game = page.locator(".hsd-game")
    while game.get_attribute("data-phase") in ("write", "lesson"):
        if game.get_attribute("data-phase") == "lesson":
            page.locator(".hsd-gm-next").click()
            continue
        if page.locator(".hsd-gm-choice").count():
            page.locator(".hsd-gm-choice").first.click()
        page.locator(".hsd-gm-go").click()
        page.wait_for_selector(".hsd-game:not([data-phase=reading])")
    page.locator(".hsd-gm-time").click()
    page.get_by_role("button", name="But is it still").click()
    page.get_by_role("button", name="Just as often").click()
    page.get_by_role("button", name="Next: your text in the article").click()
    expect(page.locator("#s1 > h2")).to_be_in_viewport()
    drafter = page.locator("#scene-same").get_by_label("Drafter")
    expect(drafter).to_have_value("you")
    expect(page.locator("#scene-same .hsd-out .hsd-tok").first).to_be_visible()
    drafter.select_option("nano")
    expect(page.locator("#scene-same")).to_contain_text("nano, draft model")
    page.close()
