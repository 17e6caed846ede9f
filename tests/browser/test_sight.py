"""What a visitor sees: nothing tears the text apart, covers a value, or takes a file that was meant for another field."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views import TokenStream

from .test_voila import TOKENS, opened
from .test_your_logs import DROP

pytestmark = pytest.mark.browser
#: Whether two boxes of a selector share more than a pixel, as pairs of their texts.
OVERLAPS = """(selector) => {
  const seen = [...document.querySelectorAll(selector)].filter((n) => n.checkVisibility() && n.textContent.trim());
  const boxes = seen.map((n) => [n.textContent, n.getBoundingClientRect()]);
  const meet = ([, a], [, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b)).map((b) => [a[0], b[0]]));
}"""


@pytest.fixture(scope="module")
def shared(chromium, voila):
    from .conftest import Page

    page = Page(chromium)
    page.page.goto(voila, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    page.page.wait_for_selector(".hsd-player-bar")
    yield page
    page.page.close()


def test_counts_of_other_rejected_tokens_stay_in_the_line(shared):
    """A count after a rejected draft is beside it, as wide as its digits, and the following token may share its line."""
    page = shared.page
    counts = page.locator(".hsd-out .hsd-strip > :not(.hsd-ghost)")
    assert counts.count() > 3
    found = counts.evaluate_all(
        """(nodes) => nodes.map((n) => [getComputedStyle(n).display, n.getBoundingClientRect().width, n.textContent.length])"""
    )
    assert all(display == "inline" and width < 12 * length for display, width, length in found), found
    shared.check()


def test_rejected_and_unexamined_tokens_are_hovered_pinned_and_told_apart(shared):
    page = shared.page
    # A token with letters: a line break has its box in two lines.
    rejected = page.locator('.hsd-out .hsd-ghost[data-verdict="rejected"]', has_text=re.compile(r"[a-z]")).nth(2)
    unexamined = page.locator('.hsd-out .hsd-ghost[data-verdict="unreached"]').first
    looks = [g.evaluate("(n) => getComputedStyle(n).textDecorationLine") for g in (rejected, unexamined)]
    assert looks == ["line-through", "underline"]
    assert "not examined" in unexamined.get_attribute("title")
    rejected.hover()
    expect(rejected).to_have_class(re.compile("hsd-on"))
    expect(page.locator(".hsd-player-words")).to_contain_text("is rejected")
    rejected.click()
    expect(rejected).to_have_class(re.compile("hsd-pinned"))
    # The card is about the rejected token, not about the correction that took its place.
    expect(page.locator(".hsd-card .hsd-big")).to_have_text(rejected.text_content().replace(" ", "␣"))
    expect(page.locator(".hsd-card .hsd-kind")).to_have_text("rejected")
    expect(page.locator(".hsd-card tr.hsd-mine .hsd-mark")).to_have_text("✗")
    rejected.click()
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(0)
    unexamined.click()
    expect(page.locator(".hsd-player-words")).to_contain_text("is rejected")
    page.keyboard.press("Escape")
    shared.check()


def test_a_log_dropped_on_its_field_is_no_trace_and_leaves_the_page_as_it_was(shared):
    page = shared.page
    page.get_by_role("tab", name="Your traffic", exact=True).click()
    drop = page.locator(".hsd-panel .hsd-drop").first
    drop.wait_for()
    app = page.locator(".hsd-app").first
    border = "(n) => [getComputedStyle(n).borderTopWidth, getComputedStyle(n).backgroundColor, n.className]"
    before = app.evaluate(border)
    drop.evaluate(DROP, ["log.jsonl", '{"prompt": "a b c d", "output": "e f g h"}'])
    expect(drop.locator("strong")).to_contain_text("log.jsonl,")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert app.evaluate(border) == before
    # A file over the rest of the page announces that it opens as a trace, and changes nothing but that.
    over = """(n) => { const data = new DataTransfer(); data.items.add(new File(["x"], "x.json"));
      n.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true })); }"""
    page.locator(".hsd-header").evaluate(over)
    expect(app).to_have_class(re.compile("hsd-drop-page"))
    assert app.evaluate(border)[:2] == before[:2]
    drop.evaluate(over)
    expect(app).not_to_have_class(re.compile("hsd-drop-page"))
    shared.check()


def test_buttons_of_a_chart_cover_none_of_its_values(shared):
    page = shared.page
    page.get_by_role("tab", name="Why", exact=True).click()
    page.locator(".hsd-chart .main-svg").locator("visible=true").first.wait_for()
    bars = """() => [...document.querySelectorAll(".hsd-chart-frame")].filter((f) => f.querySelector(".modebar")).map((f) => {
      const tools = f.querySelector(".modebar").getBoundingClientRect();
      return [...f.querySelectorAll(".bartext, .annotation-text, .textpoint text")].filter((t) => {
        const b = t.getBoundingClientRect();
        return b.width && b.top < tools.bottom && b.right > tools.left && b.bottom > tools.top;
      }).map((t) => t.textContent);
    })"""
    found = page.evaluate(bars)
    assert found and not any(found), found
    shared.check()


@pytest.mark.parametrize("width", [1440, 420])
def test_labels_of_race_and_hierarchy_do_not_meet_and_are_not_cut(open_page, voila, width):
    shown = opened(open_page, voila, width)
    page = shown.page
    for tab, box, labels in (
        ("Time", ".hsd-graph", ".hsd-graph svg text"),
        (
            "Compare",
            ".hsd-vs-lanes",
            ".hsd-vs-lane-score > *, .hsd-vs-lane .hsd-vs-name-text > *, .hsd-vs-lane .hsd-vs-letter",
        ),
    ):
        page.get_by_role("tab", name=tab, exact=True).click()
        frame = page.locator(f".hsd-panel {box}").locator("visible=true").first
        frame.locator("svg").first.wait_for()
        assert page.evaluate(OVERLAPS, labels) == []
        cut = """(f, [labels]) => { const b = f.getBoundingClientRect();
          return [...f.querySelectorAll(labels)].filter((n) => n.checkVisibility()).filter((n) => {
            const a = n.getBoundingClientRect();
            return a.left < b.left - 1 || a.right > b.right + 1 || n.scrollWidth > n.clientWidth + 1 && n.clientWidth;
          }).map((n) => n.textContent); }"""
        own = ", ".join(part.strip().removeprefix(f"{box} ") for part in labels.split(","))
        assert frame.evaluate(cut, [own]) == []
    shown.check()


def test_tokens_of_the_logits_database_have_a_colour_in_an_exported_page(chromium, tmp_path):
    data = load_bundled("databases").to_dict()
    for table in ("tokens", "drafts"):
        data[table]["source"] = ["logits" if s == "context" else s for s in data[table]["source"]]
    path = tmp_path / "page.html"
    TokenStream(Trace.from_dict(data)).save(path)
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(TOKENS)
    colours = ["logits", "model"]
    read = "(nodes) => nodes.map((n) => getComputedStyle(n).color)"
    seen = [set(page.locator(f'{TOKENS}[data-family="{name}"]').evaluate_all(read)) for name in colours]
    ink = page.locator(f'{TOKENS}[data-family="target"]').first.evaluate("(n) => getComputedStyle(n).color")
    assert all(len(found) == 1 and ink not in found for found in seen) and seen[0] != seen[1], seen
    page.close()
