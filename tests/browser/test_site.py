"""The static site opened from its folder: every page draws, and no request leaves it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_every_page_opens_from_the_folder_and_asks_for_nothing_else(chromium, built_site):
    out = built_site
    page, asked, errors = chromium.new_page(), [], []
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
