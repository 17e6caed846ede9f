"""The tab Your logs in a real browser: a dropped log is replayed, and its text is never markup; the card of the run."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from hsd_viz import load_bundled

MARKUP = "<img src=x onerror='window.hurt = 1'>"
#: Drop text as a file, as a person does with a mouse.
DROP = """(node, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ['dragover', 'drop'])
    node.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def text():
    trace = load_bundled("copied")
    row = {"prompt_ids": trace.meta["prompt_ids"], "output_ids": trace.token_ids, "category": MARKUP}
    other = {"prompt": MARKUP, "output": f"{MARKUP} {MARKUP}", "category": "text"}
    return "\n".join([json.dumps(row)] * 600 + [json.dumps(other)] * 4 + [MARKUP])


def test_a_dropped_log_is_replayed_and_stays_text(open_page, voila, text):
    shown = open_page(1400)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    page.get_by_role("tab", name="Your traffic", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Your traffic")
    drop = panel.locator(".hsd-drop").first
    drop.wait_for()
    panel.get_by_role("button", name="Replay").click()
    expect(panel.get_by_role("alert")).to_contain_text("no log: drop a file")
    drop.evaluate(DROP, [f"{MARKUP}.jsonl", text])
    expect(drop.locator("strong")).to_contain_text("kB")
    expect(panel.get_by_role("alert")).to_have_count(0)
    panel.get_by_label("Drafters, one per line").fill("lookup\nsam")
    panel.get_by_role("button", name="Replay").click()
    report = panel.locator(".hsd-report")
    expect(report.locator(".hsd-report-answer")).to_contain_text("tokens per forward pass", timeout=60_000)
    expect(report.locator(".hsd-report-warning")).to_contain_text("1 broken record skipped; the first is record 605")
    report.get_by_text("By category", exact=True).click()
    expect(report.get_by_role("columnheader", name=MARKUP)).to_be_visible()
    panel.locator(".hsd-chart .main-svg").first.wait_for()
    assert page.evaluate("window.hurt") is None and page.locator("img[src='x']").count() == 0
    for width in (1400, 420):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    with page.expect_download() as download:
        panel.get_by_role("button", name="Save result").click()
        page.get_by_role("menuitem", name="Report").click()
    saved = json.loads(download.value.path().read_text())
    assert [row["name"] for row in saved["drafters"]] == ["lookup", "sam"] and saved["log"]["requests"] == 604
    # A long replay is cancelled.
    panel.get_by_label("Drafters, one per line").fill("hd\nngram-cache\nsuffix")
    panel.get_by_role("button", name="Replay").click()
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_text("Cancelled", exact=False)).to_be_visible()
    shown.check()


def test_the_card_opens_and_fits(open_page, voila):
    shown = open_page(1400)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    card = page.locator(".hsd-doctor")
    expect(card.locator("summary")).to_contain_text("What limits the speed-up")
    shares = card.locator(".hsd-doc-legend li").all_text_contents()
    assert 98 <= sum(int(text.split()[-2]) for text in shares) <= 102
    assert not card.get_by_text("What to do").is_visible()
    card.locator("summary").press("Enter")
    expect(card.get_by_text("What to do")).to_be_visible()
    for width in (1400, 420):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert card.evaluate("e => e.scrollWidth <= e.clientWidth")
    shown.check()
