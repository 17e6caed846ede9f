"""The static site opened from its folder: every page draws, and no request leaves it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_every_page_opens_from_the_folder_and_asks_for_nothing_else(chromium, built_site):
    out = built_site
    page = chromium.new_page()
    asked = []
    errors = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((out / "index.html").as_uri())
    expect(
        page.get_by_text("any web server")
    ).to_be_visible()  # a page of a folder starts no worker
    links = [link.get_attribute("href") for link in page.locator(".pages a").all()]
    assert len(links) > 10
    for link in links:
        page.goto(f"{out.as_uri()}/{link}")
        expect(page.locator("h1, [role=heading], table, svg").first).to_be_visible()
    page.goto((out / next(link for link in links if link.startswith("lessons/1"))).as_uri())
    answers = page.locator("li > details")
    answers.first.locator("summary").click()
    expect(answers.first).to_have_attribute("open", "")
    page.close()
    assert errors == []
    folder = out.as_uri()
    assert [url for url in asked if not url.startswith((folder, "blob:", "data:"))] == []


#: Pixels that a thumb needs, by the guideline of both phone systems.
THUMB = 44
#: Buttons of the game that a thumb must hit to play it.
PLAYED = ".hsd-gm-choice, .hsd-gm-go, .hsd-gm-next"


def test_the_game_is_played_by_one_thumb(chromium, built_site):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{(built_site / 'recordings.html').as_uri()}?game=0")
    game = page.locator(".hsd-game")
    page.locator(".hsd-gm-choice").first.wait_for()
    assert page.evaluate("document.activeElement.tagName") != "INPUT", "no keyboard opens by itself"
    while game.get_attribute("data-phase") in ("write", "lesson"):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        heights = [button.bounding_box()["height"] for button in page.locator(PLAYED).all()]
        assert min(heights) >= THUMB
        if game.get_attribute("data-phase") == "lesson":
            page.locator(".hsd-gm-next").tap()
            continue
        if page.locator(".hsd-gm-choice").count():
            page.locator(".hsd-gm-choice").first.tap()
        page.locator(".hsd-gm-go").tap()
        page.wait_for_selector(".hsd-game:not([data-phase=reading])")
    page.locator(".hsd-gm-time").tap()
    expect(page.locator(".hsd-gm-verdict")).to_contain_text("plain decoding")
    page.locator(".hsd-gm-explore").tap()
    expect(page.locator(".hsd-origin-stack")).to_have_text("you > target")
    context.close()
