"""The way from the tour to a lesson and back, in a real browser."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from hsd_viz.exercises import editions
from hsd_viz.views import lessons

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


def test_a_puzzle_says_whether_a_value_is_right(chromium, tmp_path):
    file = tmp_path / "puzzles.html"
    file.write_text(lessons.page(editions.notebooks()[-1]), encoding="utf-8")
    page = chromium.new_page()
    page.goto(file.as_uri())
    label = page.locator("label", has_text="missing(p=").nth(2)
    said = lambda: label.locator("b").evaluate("node => getComputedStyle(node, '::after').content")
    assert said() == "none"
    label.locator("input").fill("[1, 1, 1]")
    assert "another value" in said()
    p, q = (list(map(Fraction, row.split(", "))) for row in re.findall(r"\[(.*?)\]", label.inner_text()))
    label.locator("input").fill(", ".join(str(max(a - b, 0)) for a, b in zip(p, q, strict=True)))
    assert "right" in said()
