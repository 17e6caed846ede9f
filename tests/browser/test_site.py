"""The static site opened from its folder: every page draws, and no request leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium, built_site):
    """A page that must have no error, and ask for nothing outside of the folder."""
    page = chromium.new_page()
    asked = []
    errors = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []
    own = (built_site.as_uri(), "blob:", "data:")
    assert [url for url in asked if not url.startswith(own)] == []


def links_of(page, site: Path) -> list[str]:
    """Return the addresses of the pages that the index links."""
    page.goto((site / "index.html").as_uri())
    return [link.get_attribute("href") for link in page.locator(".pages a").all()]


def test_a_page_of_a_folder_starts_no_worker(page, built_site):
    page.goto((built_site / "index.html").as_uri())
    expect(page.get_by_text("any web server")).to_be_visible()


def test_every_page_opens_from_the_folder(page, built_site):
    files = dict.fromkeys(link.partition("?")[0] for link in links_of(page, built_site))
    assert len(files) > 10
    for file in files:
        page.goto((built_site / file).as_uri())
        expect(page.locator("h1, [role=heading], table, svg").first).to_be_visible()


def test_the_index_links_runs_of_the_page_of_recordings(page, built_site):
    links = [link for link in links_of(page, built_site) if "?trace=" in link]
    names = [link.partition("?trace=")[2] for link in links]
    page.goto(f"{built_site.as_uri()}/{links[-1]}")

    runs = page.locator(".hsd-run-select")
    expect(runs).to_have_value(names[-1])
    offered = runs.locator("option").evaluate_all("options => options.map((o) => o.value)")
    assert set(names) <= set(offered)


def test_an_answer_of_a_lesson_is_opened(page, built_site):
    [lesson] = (built_site / "lessons").glob("1-*.html")
    page.goto(lesson.as_uri())
    answers = page.locator("li > details")
    answers.first.locator("summary").click()
    expect(answers.first).to_have_attribute("open", "")


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
