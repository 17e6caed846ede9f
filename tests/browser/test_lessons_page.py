"""Slides by keys, and the way from the tour to a lesson and back, in a real browser."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from hsd_viz.exercises import editions
from hsd_viz.views import lessons

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_slides_follow_keys_views_keep_theirs_and_results_are_revealed(chromium, tmp_path):
    file = tmp_path / "deck.html"
    file.write_text(lessons.deck(editions.masters()[:3]), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1400, "height": 800})
    problems, asked = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("#view-2 *", state="attached")
    place = lambda: page.inner_text("#place")
    shown = lambda: page.inner_text(".deck > section.shown")
    assert place().startswith("1 /")
    for key, words in [
        ("ArrowRight", "1 · One pass"),
        (" ", "memory-bound"),
        ("3", "3 · Why sampling"),
        ("ArrowLeft", "take home"),
    ]:
        page.keyboard.press(key)
        assert words in shown(), key
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.is_hidden(".deck > section.shown details pre")
    page.keyboard.press("r")
    assert "times" in page.inner_text(".deck > section.shown details pre")
    page.keyboard.press("End")
    last = place()
    page.keyboard.press("ArrowRight")
    assert place() == last and last.split(" / ")[0] == last.split(" / ")[1]
    # A view under the zoom of the deck finds what is under the pointer.
    page.goto(f"{file.as_uri()}#6")
    bar = page.locator(".shown .hsd-tl-call").nth(40)
    bar.hover()
    assert "hsd-on" in bar.get_attribute("class")
    page.keyboard.press("1")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("R")
    assert page.is_hidden(".deck > section.shown details pre"), "R also hides"
    run = page.evaluate(
        "1 + [...document.querySelectorAll('.deck > section')].findIndex((s) => s.querySelector('.view .hsd-sc-stage'))"
    )
    page.goto(f"{file.as_uri()}#{run}")
    page.reload()
    page.click(".deck > section.shown .view button:has-text('Next round')")
    assert place().startswith(f"{run} /") and "Round 2 of" in shown()
    page.keyboard.press("ArrowRight")
    assert place().startswith(f"{run + 1} /"), "a button leaves its keys to the slides"
    page.keyboard.press("ArrowLeft")
    assert page.is_hidden(".leave")
    page.focus(".deck > section.shown .view .hsd-sc-stage")
    page.keyboard.press("ArrowRight")
    assert place().startswith(f"{run} /") and page.is_visible(".leave"), "the key belongs to the view"
    page.keyboard.press("PageDown")
    assert place().startswith(f"{run + 1} /")
    page.keyboard.press("PageUp")
    page.focus(".deck > section.shown .view .hsd-sc-stage")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    assert place().startswith(f"{run + 1} /")
    assert problems == [] and [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    page.close()


def test_slides_can_be_read_from_the_last_row_and_say_where_they_continue(chromium, tmp_path):
    file = tmp_path / "deck.html"
    file.write_text(lessons.deck(editions.masters()[7:8]), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1920, "height": 1080})
    page.goto(file.as_uri())
    page.wait_for_selector("#view-0 *", state="attached")
    sizes = page.evaluate(
        "[...document.querySelectorAll('.deck > section:not(:has(.view, figure)) p')]"
        ".map((p) => parseFloat(getComputedStyle(p).fontSize))"
    )
    assert min(sizes) >= 36
    run = page.evaluate(
        "1 + [...document.querySelectorAll('.deck > section')].findIndex((s) => s.querySelector('.view'))"
    )
    page.goto(f"{file.as_uri()}#{run}")
    # Type is drawn at its size times the zoom.
    assert 11 * float(page.evaluate("getComputedStyle(document.querySelector('.view')).zoom")) >= 18
    page.wait_for_selector("#more", state="visible")
    assert "0.0 ms" in page.inner_text("section.shown .view") and page.is_visible("text=Start the race")
    top = lambda: page.evaluate("document.querySelector('section.shown').scrollTop")
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    page.wait_for_selector("#more", state="hidden")
    assert top() > 0
    for _ in range(20):
        page.keyboard.press("ArrowUp")
    assert top() == 0
    page.set_viewport_size({"width": 900, "height": 220})
    page.keyboard.press("PageUp")
    page.keyboard.press("r")
    box = page.locator("section.shown details").bounding_box()
    assert page.evaluate("document.querySelector('section.shown').scrollTop") > 0 and 0 <= box["y"] < 220
    page.close()


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
