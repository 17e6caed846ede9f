"""The page of a bench report in a real browser, narrow and wide, light and dark."""

from pathlib import Path

import pytest

from hsd_viz.bench.page import page
from hsd_viz.bench.report import read_report

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-greedy-cpu.json"


@pytest.mark.parametrize("width", [420, 820, 1400])
def test_a_report_fits_its_window_and_asks_for_nothing(open_page, width):
    opened = open_page(width)
    opened.page.set_content(page(read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)))
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    figures = opened.page.locator("figure")
    assert figures.count() == 2 + 6
    for k in range(figures.count()):
        # Of each figure one drawing is shown, and none of its words is cut off at its edges.
        shown = figures.nth(k).locator("svg:visible")
        assert shown.count() == 1
        frame = shown.bounding_box()
        assert frame["x"] >= 0 and frame["x"] + frame["width"] <= width
        for box in shown.locator("text").evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())"):
            assert frame["x"] - 1 <= box["left"] and box["right"] <= frame["x"] + frame["width"] + 1
    opened.check()


def test_words_read_on_light_and_dark(open_page):
    opened = open_page(1400)
    opened.page.set_content(page(read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)))
    colours = """() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
        getComputedStyle(document.querySelector('.note')).color].map(c => c.match(/\\d+/g).slice(0, 3).map(Number))"""

    def light(colour: list[int]) -> float:
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    grounds = []
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)
        ground, *inks = map(light, opened.page.evaluate(colours))
        grounds.append(ground)
        for ink in inks:
            high, low = max(ground, ink), min(ground, ink)
            assert (high + 0.05) / (low + 0.05) >= 4.5
    assert grounds[0] > 0.9 and grounds[1] < 0.1
