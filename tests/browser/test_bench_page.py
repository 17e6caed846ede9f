"""The page of a bench report in a real browser, narrow and wide, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from hsd_viz.measure.bench import page
from hsd_viz.measure.bench_words import answer
from hsd_viz.measure.report import read_report
from hsd_viz.views.app.answers import FIRST_REPORT
from tests.changes import contrast

pytestmark = pytest.mark.browser

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-t07-cpu.json"


@pytest.mark.parametrize("width", [420, 820, 1400])
def test_a_report_fits_its_window_and_asks_for_nothing(open_page, width):
    opened = open_page(width)
    opened.page.set_content(page(read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)))
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    bars = opened.page.locator("td .bar")
    assert bars.count() > 20
    # A bar stays in its cell.
    inside = "all => all.every(e => e.getBoundingClientRect().width <= e.parentElement.getBoundingClientRect().width)"
    assert bars.evaluate_all(inside)
    opened.check()


def test_words_read_on_light_and_dark(open_page):
    opened = open_page(1400)
    opened.page.set_content(page(read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)))
    colours = """() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
        getComputedStyle(document.querySelector('.note')).color].map(c => c.match(/\\d+/g).slice(0, 3).map((v) => v / 255))"""

    for scheme, low, high in (("light", 0.95, 1), ("dark", 0, 0.12)):
        opened.page.emulate_media(color_scheme=scheme)
        ground, *inks = opened.page.evaluate(colours)
        assert all(low <= part <= high for part in ground)
        assert all(contrast(ink, ground) >= 4.5 for ink in inks)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_tab_shows_the_page_whole_in_its_theme(open_page, voila, scheme):
    shown = open_page(1400)
    page = shown.page
    page.goto(f"{voila}?theme={scheme}", wait_until="domcontentloaded")
    page.get_by_role("tab", name="Compare", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.get_by_text("All stacks, categories, latencies and settings").click()
    element = panel.locator("iframe")
    frame = element.content_frame
    opened = SAVED.with_name(FIRST_REPORT)
    measured = read_report(opened.read_text(encoding="utf-8"), opened.name)
    expect(frame.locator(".headline")).to_have_text("".join(text for text, _ in answer(measured)))
    ground = frame.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(33, 33, 33)"}[scheme], (
        "as the page around it"
    )
    for width in (1400, 720, 420):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_function(
            "e => e.clientWidth < innerWidth && e.clientHeight === e.contentDocument.documentElement.offsetHeight",
            arg=element.element_handle(),
        )
        assert page.evaluate("document.documentElement.scrollWidth") == width
    shown.check()
