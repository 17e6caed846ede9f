"""Save and open in a real browser: the bytes that arrive are whole files, and a file of one's own is shown or refused in one sentence."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hsd_viz import load_bundled
from hsd_viz.engine.replay import bundled
from hsd_viz.trace import Trace

from .conftest import Page
from .test_lab import run_all
from .test_voila import TOKENS

pytestmark = pytest.mark.browser
RUNS = [r.name for r in bundled()]
TITLES = [r.label for r in bundled()]
#: Whether an element can be seen at its middle.
ON_TOP = """e => {
  const b = e.getBoundingClientRect();
  return e.contains(document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2));
}"""


@pytest.fixture(scope="module")
def shared(chromium, voila):
    """One page for the tests that follow one another, as one person would use it."""
    page = Page(chromium)
    page.page.goto(voila, wait_until="domcontentloaded")
    page.page.wait_for_selector(TOKENS)
    page.page.get_by_role("button", name="Save", exact=True).wait_for()
    yield page
    page.page.close()


def save(page, form: str) -> tuple[str, bytes]:
    """Name and content of the file that the browser keeps."""
    page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as coming:
        page.get_by_role("menuitem", name=form).click()
    download = coming.value
    # It came from the page itself, not from an address of the server.
    assert download.url.startswith("blob:")
    return download.suggested_filename, Path(download.path()).read_bytes()


def open_file(page, path: Path) -> None:
    page.locator(".hsd-recordings .hsd-open input").set_input_files(path)


def test_every_form_arrives_whole(shared):
    page, trace = shared.page, load_bundled(RUNS[0])
    name, content = save(page, "Trace")
    assert re.fullmatch(r"hsd_viz_[\w-]+\.json\.gz", name)
    assert Trace.from_bytes(content).to_dict() == trace.to_dict()
    name, content = save(page, "Tables")
    assert name.endswith(".csv.zip")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert len(list(csv.DictReader(io.StringIO(archive.read("tokens.csv").decode())))) == len(trace)
    name, content = save(page, "Timeline")
    assert name.endswith(".perfetto.json")
    calls = [e for e in json.loads(content)["traceEvents"] if e.get("cat") == "call"]
    assert len(calls) == len(trace.call_rows)
    shared.check()


def test_the_saved_page_opens_by_itself(shared, open_page, tmp_path):
    name, content = save(shared.page, "Page")
    assert name.endswith(".html")
    path = tmp_path / name
    path.write_bytes(content)
    alone = open_page()
    requests: list[str] = []
    alone.page.on("request", lambda request: requests.append(request.url))
    # Its own route would refuse a page from the disk.
    alone.page.unroute_all()
    alone.page.goto(path.as_uri())
    expect(alone.page.locator(TOKENS)).to_have_count(len(load_bundled(RUNS[0]).token_rows))
    assert requests == [path.as_uri()] and alone.errors == []


def test_the_menu_is_used_by_keyboard(shared):
    page = shared.page
    button = page.get_by_role("button", name="Save", exact=True)
    rows = page.get_by_role("menuitem")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(rows.nth(3)).to_be_focused()
    page.keyboard.press("Escape")
    expect(rows.nth(0)).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.locator(".hsd-header").click()
    expect(rows.nth(0)).to_be_hidden()
    shared.check()


def test_a_saved_trace_opens_again_beside_the_recordings(shared, tmp_path):
    page = shared.page
    picker = page.get_by_label("Recording", exact=True)
    picker.select_option(label=TITLES[1])
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled(RUNS[1]).meta["stack_resolved"])
    name, content = save(page, "Trace")
    path = tmp_path / name
    path.write_bytes(content)
    picker.select_option(label=TITLES[0])
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled(RUNS[0]).meta["stack_resolved"])
    open_file(page, path)
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled(RUNS[1]).meta["stack_resolved"])
    expect(page.locator(TOKENS)).to_have_count(len(load_bundled(RUNS[1]).token_rows))
    expect(picker).to_have_value(f"{name} (your file)")
    expect(page.locator(".hsd-lede").first).to_have_text(f"Opened from {name}.")
    expect(page.get_by_role("alert")).to_have_count(0)
    shared.check()


@pytest.mark.parametrize("kind", ["half", "newer", "huge"])
def test_a_file_that_cannot_be_shown_is_one_sentence_and_nothing_is_lost(shared, tmp_path, kind):
    page = shared.page
    whole = load_bundled(RUNS[0]).to_bytes()
    newer = load_bundled(RUNS[0]).to_dict() | {"schema": 99}
    content, words = {
        "half": (whole[:-100], "is not a valid trace"),
        "newer": (json.dumps(newer).encode(), "update hsd_viz"),
        "huge": (b"\0" * 8_000_001, "is too large: the maximum is 8 MB"),
    }[kind]
    path = tmp_path / f"{kind}.json.gz"
    path.write_bytes(content)
    stack, tokens = page.locator(".hsd-origin-stack").text_content(), page.locator(TOKENS).count()
    open_file(page, path)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(words)
    expect(alert.locator("p")).to_have_count(1)
    expect(alert.locator("details")).to_have_count(0)
    assert alert.locator("p").text_content().startswith(f"{kind}.json.gz")
    assert page.locator(".hsd-origin-stack").text_content() == stack and page.locator(TOKENS).count() == tokens
    page.get_by_role("button", name="Dismiss").click()
    expect(alert).to_have_count(0)
    shared.check()


@pytest.mark.parametrize("width", [420, 1400])
def test_the_menu_is_all_on_the_page(open_page, voila, width):
    shown = open_page(width)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    page.get_by_role("button", name="Save", exact=True).click()
    for row in page.get_by_role("menuitem").all():
        box = row.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        # Nothing clips it: what lies under its middle is the row itself.
        assert row.evaluate(ON_TOP)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown.check()


def test_it_works_in_a_notebook_too(open_page, lab, tmp_path):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}dashboard.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    page.wait_for_selector(TOKENS)
    name, content = save(page, "Trace")
    assert Trace.from_bytes(content).to_dict() == load_bundled(RUNS[0]).to_dict()
    path = tmp_path / f"half-{name}"
    path.write_bytes(content[: len(content) // 2])
    open_file(page, path)
    expect(page.get_by_role("alert")).to_contain_text("is not a valid trace")
    path.write_bytes(load_bundled(RUNS[1]).to_bytes())
    open_file(page, path)
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled(RUNS[1]).meta["stack_resolved"])
    shown.check()


def test_what_is_compared_is_saved_as_a_page(shared):
    page = shared.page
    page.get_by_role("tab", name="Compare", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Compare")
    expect(panel.locator(".hsd-vs-col")).to_have_count(128)
    stacks = [row.text_content() for row in panel.locator(".hsd-vs-lane .hsd-vs-stack").all()]
    with page.expect_download() as coming:
        panel.get_by_role("button", name="Save as a page", exact=True).click()
    assert coming.value.suggested_filename.startswith("hsd_viz_compare_") and coming.value.suggested_filename.endswith(
        ".html"
    )
    text = Path(coming.value.path()).read_text(encoding="utf-8")
    assert all(stack.replace(">", "&gt;") in text for stack in stacks) and len(stacks) == 3
    shared.check()


@pytest.mark.parametrize("width", [420, 1400])
def test_definitions_show_at_focus_and_stay_on_the_page(open_page, voila, width):
    shown = open_page(width)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    page.get_by_role("tab", name="Why", exact=True).click()
    texts = page.locator(".hsd-chart .hsd-note")
    expect(texts.nth(4)).to_be_visible()
    for text, words in zip(texts.all_text_contents(), ("Acceptance rate ", "Conditional acceptance ="), strict=False):
        assert text.startswith(words)
    page.get_by_role("tab", name="Watch", exact=True).click()
    terms = page.locator(".hsd-tile .hsd-p-term")
    tips = page.get_by_role("tooltip")
    expect(tips).to_have_count(0)
    for term in terms.all():
        term.focus()
        expect(tips).to_have_count(1)
        box = tips.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        assert "=" in tips.text_content() or "from the end" in tips.text_content()
        assert page.evaluate("document.querySelector('.hsd-app').scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(tips).to_have_count(0)
    shown.check()


def test_who_answered_follows_the_cursor_and_moves_it(open_page, voila):
    shown = open_page()
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    page.get_by_role("tab", name="Databases", exact=True).click()
    area = page.locator(".hsd-ac-area")
    area.wait_for()
    rounds = len([r for r in load_bundled(RUNS[0]).round_rows if r.parent is None])
    box = area.bounding_box()
    area.click(position={"x": box["width"] * 2.5 / rounds, "y": 10})
    page.mouse.move(4, 4)
    readout = page.locator(".hsd-ac-readout")
    expect(readout).to_contain_text("Round 3:")
    expect(page.locator(".hsd-player-place")).to_contain_text(re.compile(r"Round 3\b"))
    area.press("Shift+ArrowRight")
    expect(readout).to_contain_text("Round 4:")
    page.get_by_role("slider", name="Events of the run").press("End")
    expect(readout).to_contain_text(f"Round {rounds}:")
    expect(page.get_by_role("region", name="Savings of each drafter alone")).to_contain_text("cost stopping off")
    shown.check()
