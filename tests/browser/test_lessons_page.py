"""The way from the tour to a lesson and back, in a real browser."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


def test_the_tour_opens_a_lesson_whose_link_opens_the_step(voila, chromium):
    page = chromium.new_page()
    page.goto(f"{voila}?tour=chance")
    page.wait_for_selector(".hsd-tour-title:has-text('Sampling')", timeout=60_000)
    with page.context.expect_page() as opened:
        page.click(".hsd-tour-lesson")
    lesson = opened.value
    lesson.wait_for_selector("h1:has-text('Why sampling stays exact')", timeout=60_000)
    lesson.wait_for_selector("#view-0 *", state="attached")
    link = lesson.get_attribute("a:has-text('Tour')", "href")
    assert link.startswith(voila.rstrip("/")) and link.endswith("?tour=chance")
    page.close()
