"""Slides by keys, and the way from the tour to a lesson and back, in a real browser."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from playwright.sync_api import expect

from .conftest import quiet

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def slides(built_site) -> str:
    """The address of the slides of all lessons."""
    return (built_site / "lessons" / "slides.html").as_uri()


def test_slides_fill_a_screen_each_and_ask_for_nothing(chromium, slides):
    page = chromium.new_page(viewport={"width": 1400, "height": 800})
    problems = []
    asked = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(slides)
    page.wait_for_selector("#view-0 *", state="attached")
    page.get_by_role("link", name="2 · Draft, verify, accept").click()
    expect(page.locator("#lesson-2 h1")).to_be_in_viewport()
    assert page.evaluate(
        "[...document.querySelectorAll('.deck > section')].every((s) => s.offsetHeight >= 800)"
    )
    page.keyboard.press("PageDown")
    expect(page.locator("#lesson-2 h1")).not_to_be_in_viewport()
    expect(page.locator("#lesson-2 + section h2")).to_be_in_viewport()
    answer = page.locator("#lesson-2 + section details")
    assert answer.locator(".answers").is_hidden()
    answer.locator("summary").click()
    assert answer.locator(".answers").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 1400
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    page.close()


#: How far the content of a slide reaches down, and how tall the slide is.
DEPTHS = """[...document.querySelectorAll(".deck > section")].map((slide) => {
    const top = slide.getBoundingClientRect().top;
    const parts = [...slide.children].map((part) => part.getBoundingClientRect());
    const depth = Math.max(...parts.map((part) => part.bottom));
    const name = slide.querySelector("h1, h2")?.innerText ?? slide.innerText.slice(0, 40);
    return { name, depth: depth - top, rise: parts[0].top - top, height: slide.offsetHeight };
})"""


#: Whether all views and charts of a slide are drawn.
DRAWN = """(slide) => [...slide.querySelectorAll(".view")].every(
    (view) => view.querySelector(view.closest("figure") ? ".main-svg" : "*"))"""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_every_slide_fits_the_screen(chromium, slides, width, height):
    page = chromium.new_page(viewport={"width": width, "height": height})
    page.goto(slides)
    page.wait_for_selector("#view-0 *", state="attached")
    sections = page.locator(".deck > section").element_handles()
    for section in sections:  # views are drawn when they come into sight
        section.evaluate("slide => slide.scrollIntoView()")
        page.wait_for_function(DRAWN, arg=section)
    quiet(page)

    depths = page.evaluate(DEPTHS)

    assert len(sections) > 60
    assert [slide for slide in depths if slide["height"] != height] == []
    assert [slide for slide in depths if slide["depth"] > height or slide["rise"] < 0] == []
    page.close()


def test_a_puzzle_says_whether_a_value_is_right(chromium, built_site):
    page = chromium.new_page()
    page.goto((built_site / "lessons" / "puzzles.html").as_uri())
    field = page.locator(".field", has_text="missing(p=").nth(2)
    given = field.locator("input")
    check = field.get_by_role("button", name="Check")

    def said() -> str:
        return field.locator("b").evaluate("node => getComputedStyle(node, '::after').content")

    def answer(text: str) -> None:
        given.fill("")
        given.press_sequentially(text)

    assert said() == "none"
    answer("[1, 1, 1]")
    check.click()
    assert "another value" in said()
    rows = re.findall(r"\[(.*?)\]", field.locator("label").inner_text())
    p, q = (list(map(Fraction, row.split(", "))) for row in rows)
    answer(", ".join(str(max(a - b, 0)) for a, b in zip(p, q, strict=True)))
    given.press("Enter")
    assert "right" in said()


def test_a_prediction_asks_for_a_number_and_marks_its_error(chromium, built_site):
    page = chromium.new_page()
    page.goto((built_site / "lessons" / "1-one-pass-many-tokens.html").as_uri())
    guess = page.locator(".guess")
    button = guess.locator(".answer > summary")

    button.click()

    expect(button).to_have_text("Your number first, or press again")
    expect(guess.locator(".answers")).to_be_hidden()
    for slider in guess.get_by_role("slider").all():
        slider.fill("2")
    button.click()
    expect(guess.locator(".answers")).to_be_visible()
    expect(guess.locator("output").first).to_have_text("2.0 × one token: 0.8 too high")
    expect(guess.get_by_role("slider").first).to_be_disabled()
    page.close()


def handle_heights(page) -> list[float]:
    """How far down the handles of a prediction are, in pixels."""
    return page.locator(".curve .handle").evaluate_all(
        "all => all.map((each) => each.cy.baseVal.value)"
    )


def test_a_handle_is_dragged_on_the_curve_and_moved_by_keys(chromium, built_site):
    page = chromium.new_page(viewport={"width": 420, "height": 900})
    page.goto((built_site / "lessons" / "1-one-pass-many-tokens.html").as_uri())
    wide = page.locator(".curve .grip").nth(1)
    wide.scroll_into_view_if_needed()
    output = page.locator(".guess output").nth(1)
    _, before = handle_heights(page)
    box = wide.bounding_box()
    assert min(box["width"], box["height"]) >= 44

    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 100)
    page.mouse.up()
    _, dragged = handle_heights(page)
    assert dragged == pytest.approx(before + 100, abs=4)
    page.locator(".guess").get_by_role("slider").nth(1).press("ArrowDown")
    _, moved = handle_heights(page)

    assert moved > dragged
    expect(output).to_have_text(re.compile(r"^\d\.\d × one token$"))
    expect(page.locator(".curve .marked")).to_have_count(1)
    page.close()


def test_the_slider_of_a_figure_is_moved_by_keys(chromium, built_site):
    page = chromium.new_page()
    page.goto((built_site / "lessons" / "3-why-sampling-stays-exact.html").as_uri())
    figure = page.locator("figure").first
    figure.scroll_into_view_if_needed()
    words = figure.locator(".annotation-text")
    expect(words).to_have_text("accepted 1.0 + residual 0.0 = 1")

    slider = figure.get_by_role("slider")
    for _ in range(3):
        slider.press("ArrowRight")

    expect(figure.locator("label output")).to_have_text("0.6")
    expect(words).to_have_text("accepted 0.7 + residual 0.3 = 1")
    expect(figure.locator(".slider-container")).to_have_count(0)
    page.close()
