"""What a visitor decodes, opens and compares through Voilà."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

import hsd_viz as hsd
from hsd_viz.engine.recordings import load_bundled

from .conftest import PATIENCE
from .explorer import CANCEL, TOKENS, choose_of_run, field, opened, tab

pytestmark = pytest.mark.browser

#: Text that would run as a script if it were inserted as HTML, cut off within a tag.
NASTY = (
    'def f():\n    return "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"\n\n\n'
    'def g():\n    return "<scr'
)
#: The title of the latency law's answer.
FASTEST = "Which stack is fastest?"
LOG_FIELD = ".hsd-drop-field input[accept^='.jsonl']"
#: Drops a file on an element.
DROP = """([selector, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const target = document.querySelector(selector);
  const options = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const kind of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(kind, options));
}"""


def test_a_run_is_decoded_here_kept_over_a_reload_and_cancelled(open_page, voila):
    shown = opened(open_page, f"{voila}?tour=lost&seed=3")
    page = shown.page
    expect(page.get_by_role("alert").first).to_contain_text("The tour has no stop 'lost'")
    page.locator(".hsd-form-switch").click()
    expect(field(page, "Seed")).to_have_value("3")
    run = page.get_by_role("button", name="Run", exact=True)
    for label, typed in (("Temperature", "1000"), ("New tokens", "0")):
        before = field(page, label).input_value()
        field(page, label).fill(typed)
        expect(field(page, label)).to_have_attribute("aria-invalid", "true")
        run.click()
        # The field says it, alone: it gets the focus.
        expect(field(page, label)).to_be_focused()
        expect(page.locator(".hsd-fields .hsd-field-problem:not(:empty)")).to_have_text(
            re.compile(rf"{label} must be a .*not {typed}")
        )
        field(page, label).fill(before)
    field(page, "Stack").fill("nano >")
    field(page, "Stack").blur()
    run.click()
    expect(field(page, "Stack")).to_be_focused()
    expect(page.locator(".hsd-form > .hsd-field-problem")).to_contain_text("art 2 of the stack")
    expect(page.get_by_role("alert").filter(has_text="stack")).to_have_count(0)
    field(page, "Stack").fill("db > nano:3 > target")
    field(page, "Stack").blur()
    expect(page.locator(".hsd-form > .hsd-field-problem")).to_be_empty()
    field(page, "Prompt").fill(NASTY)
    field(page, "New tokens").fill("24")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(TOKENS)).to_have_count(24)
    expect(page.locator(".hsd-tile-value").nth(1)).to_contain_text(re.compile(r"\d\.\d\d|–"))
    tab(page, "Time")
    page.get_by_text(FASTEST, exact=True).click()
    expect(page.locator(".hsd-hierarchy")).to_be_visible()
    assert page.evaluate("window.pwned") is None
    text = page.locator(".hsd-out").text_content()
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS, state="attached")
    expect(page.locator(TOKENS)).to_have_count(24)
    assert page.locator(".hsd-out").text_content() == text
    assert "trace=here" in page.url
    # Questions about a run of the kernel before.
    page.get_by_text(FASTEST, exact=True).click()
    expect(page.locator(".hsd-hierarchy")).to_be_visible(timeout=PATIENCE)
    page.locator(".hsd-form-switch").click()
    expect(field(page, "Stack")).to_have_value("db > nano:3 > target")
    field(page, "Stack").fill("target")
    field(page, "Stack").blur()
    field(page, "New tokens").fill("2000")
    page.get_by_label("Number type").select_option("float32")
    page.evaluate(CANCEL, TOKENS)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(".hsd-foot")).to_contain_text("cancelled")
    assert 5 < page.locator(TOKENS).count() < 2000
    shown.check()


def test_files_are_saved_opened_dropped_and_replayed(open_page, voila, tmp_path):
    shown = opened(open_page, voila)
    page = shown.page
    with page.expect_download() as saved:
        choose_of_run(page, re.compile("^Trace"))
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    assert len(hsd.Trace.load(path)) == page.locator(TOKENS).count()
    with page.expect_file_chooser() as chooser:
        choose_of_run(page, "Open a trace")
    chooser.value.set_files(
        {"name": "mine.json.gz", "mimeType": "", "buffer": load_bundled("sampled").to_bytes()}
    )
    expect(page.locator(".hsd-main > .hsd-headline")).to_contain_text("Opened from mine.json.gz")
    expect(page.locator(".hsd-origin-stack")).to_have_text("nano:4 > target")
    page.evaluate(DROP, [".hsd-main", "broken.json", "{"])
    expect(page.get_by_role("alert").first).to_contain_text("broken.json is not a valid trace")
    expect(page.locator(".hsd-origin-stack")).to_have_text("nano:4 > target")
    page.get_by_role("button", name="Dismiss").click()
    # A log dropped on its own field is no trace.
    tab(page, "Your traffic")
    expect(page.locator(".hsd-tr-verdict").first).to_contain_text("3 draft tokens instead of 7")
    expect(page.locator(".hsd-tr-chart")).to_be_visible()
    page.get_by_role("button", name="Copy").first.click()
    expect(page.locator(".hsd-copy").first).to_have_text(re.compile("Copied|Selected"))
    log = json.dumps({"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6] * 30})
    page.evaluate(DROP, [LOG_FIELD, "log.jsonl", log])
    page.locator(LOG_FIELD).set_input_files(
        {"name": "log.jsonl", "mimeType": "", "buffer": log.encode()}
    )
    assert page.locator(".hsd-main > .hsd-notice:not([hidden])").count() == 0
    assert page.locator(".hsd-drop-page").count() == 0
    page.get_by_text("Settings", exact=True).click()
    page.get_by_role("combobox", name=re.compile("^Tokenizer of the log")).select_option("")
    field(page, "Drafters, one per line").fill("lookup\nsam")
    page.get_by_role("button", name="Replay", exact=True).click()
    replayed = page.locator(".hsd-tr-drafters")
    expect(replayed.locator("tbody tr")).to_have_count(2, timeout=PATIENCE)
    expect(replayed).to_contain_text("lookup")
    shown.check()


def test_runs_are_compared_recorded_and_decoded_here(open_page, voila):
    shown = opened(open_page, f"{voila}?tab=compare")
    page = shown.page
    expect(page.locator(".hsd-vs-race")).to_be_visible()
    expect(page.locator(".hsd-vs-agreement")).to_contain_text("same text")
    # At first the text that the page opens with; then one of other models.
    expect(page.locator(".hsd-separate")).to_be_hidden()
    page.get_by_role("combobox", name="Prompt and sampling").select_option(
        label="Python model, temperature 0.7"
    )
    expect(page.locator(".hsd-separate")).to_be_visible()
    expect(page.locator(".hsd-runbar")).to_be_hidden()
    page.get_by_role("group", name="Stacks (two or three)").locator(
        "[aria-pressed=true]"
    ).last.click()
    expect(page.locator(".hsd-vs-runs > li")).to_have_count(2)
    page.locator(".hsd-form-switch").click()
    field(page, "New tokens").fill("16")
    page.get_by_text("Own prompt", exact=True).click()
    field(page, "Stacks, one per line").fill("target\ndb > target")
    page.get_by_role("button", name="Decode and compare").click()
    expect(page.locator(".hsd-part .hsd-stage").first).to_contain_text(
        "once each", timeout=PATIENCE
    )
    expect(page.locator(".hsd-vs-about")).to_contain_text("16 tokens")
    shown.check()
