"""The page of a bench report in a real browser, narrow and wide, light and dark."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from hsd_viz.measure.bench.report import read_report
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.bench.sentences import answer
from hsd_viz.views.app.report_answers import FIRST_REPORT
from tests.changes import contrast

pytestmark = pytest.mark.browser

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-t07-cpu.json"


@pytest.mark.parametrize("width", [420, 820, 1400])
def test_a_report_fits_its_window_and_asks_for_nothing(open_page, width):
    opened = open_page(width)
    report = read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)
    opened.page.set_content(BenchResult(report).to_html())
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    # A bar and its interval stay in their lane, and a word in its cell.
    outside = """(all) => all.filter((part) => {
      const box = part.getBoundingClientRect();
      const frame = part.parentElement.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1;
    }).length"""
    bars = opened.page.locator(".lane .bar")
    intervals = opened.page.locator(".lane .interval")
    assert bars.count() == len(report.stacks)
    assert intervals.count() == len(report.stacks) - 1, "plain decoding is 1 in every resample"
    for drawn in (bars, intervals):
        assert drawn.evaluate_all(outside) == 0
    assert opened.page.locator("td > *").evaluate_all(outside) == 0
    opened.check()


def test_words_read_on_light_and_dark(open_page):
    opened = open_page(1400)
    report = read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)
    opened.page.set_content(BenchResult(report).to_html())
    colours = """() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      const note = getComputedStyle(document.querySelector(".note")).color;
      const channels = (c) => c.match(/\\d+/g).slice(0, 3).map((v) => v / 255);
      return [backgroundColor, color, note].map(channels);
    }"""

    for scheme, low, high in (("light", 0.95, 1), ("dark", 0, 0.12)):
        opened.page.emulate_media(color_scheme=scheme)
        ground, *inks = opened.page.evaluate(colours)
        for part in ground:
            assert low <= part <= high
        for ink in inks:
            assert contrast(ink, ground) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_tab_shows_the_page_whole_in_its_theme(open_page, voila, scheme):
    shown = open_page(1400)
    page = shown.page
    page.goto(f"{voila}?theme={scheme}", wait_until="domcontentloaded")
    page.get_by_role("tab", name="Compare", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.locator("summary", has_text="Reports on many prompts").click()
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
            "e => e.clientWidth < innerWidth"
            " && e.clientHeight === e.contentDocument.documentElement.offsetHeight",
            arg=element.element_handle(),
        )
        assert page.evaluate("document.documentElement.scrollWidth") == width
    shown.check()


#: Texts and tables of a panel that leave it, with what is cut off inside: a scrolling frame hides
#: it.
CUT = """panel => {
  const faults = [], page = document.documentElement.clientWidth;
  const check = (node, frame, inside) => {
    const box = node.getBoundingClientRect();
    if (!box.width) return;
    if (box.left < frame.left - 1 || box.right > frame.right + 1)
      faults.push(`${inside}: “${node.textContent.trim().slice(0, 40)}”`);
  };
  for (const chart of panel.querySelectorAll(".hsd-chart-frame")) {
    if (!chart.checkVisibility()) continue;
    const frame = chart.getBoundingClientRect();
    for (const node of chart.querySelectorAll(".main-svg text, .shapelayer path, .bars path"))
      check(node, frame, "chart");
  }
  for (const table of panel.querySelectorAll(".hsd-doc-tables .hsd-table")) {
    const frame = table.getBoundingClientRect();
    for (const node of table.querySelectorAll("th, td")) check(node, frame, "table");
  }
  for (const element of panel.querySelectorAll("iframe")) {
    if (!element.checkVisibility()) continue;
    const { contentDocument } = element;
    const frame = { left: 0, right: contentDocument.documentElement.clientWidth };
    for (const details of contentDocument.querySelectorAll("details")) details.open = true;
    for (const node of contentDocument.querySelectorAll("tbody :is(th, td)"))
      check(node, frame, "page");
  }
  if (document.documentElement.scrollWidth > page) faults.push("the page is too wide");
  return faults;
}"""


def test_a_phone_shows_bars_and_tables_whole(open_page, voila):
    shown = open_page(420)
    page = shown.page
    page.goto(f"{voila}?theme=light", wait_until="domcontentloaded")
    page.get_by_role("tab", name="Compare", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.locator("summary", has_text="Reports on many prompts").click()
    bars = panel.locator(".hsd-chart .bars path")
    expect(bars.first).to_be_visible()
    values = panel.locator(".hsd-chart .annotation text")
    expect(values.filter(has_text="1.00 ×").first).to_be_visible()
    assert bars.count() > 5
    assert panel.locator(".hsd-chart .shapelayer path").count() >= 1, "the line of plain decoding"
    assert panel.evaluate(CUT) == []
    page.get_by_role("tab", name="Your traffic").click()
    panel = page.get_by_role("tabpanel", name="Your traffic")
    expect(panel.get_by_text("1.27 ×").first).to_be_visible()
    for fold in panel.locator("summary", has_text="All figures").all():
        fold.click()
    expect(panel.locator("table th").get_by_text("7", exact=True).first).to_be_visible()
    assert panel.evaluate(CUT) == []
    shown.check()
