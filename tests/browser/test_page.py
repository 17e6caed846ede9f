"""The page through Voilà and as an exported file: what people see, press, break and keep. Few loads, many assertions."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

import hsd_viz as hsd
from hsd_viz import figures, views
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.figures.palette import HUES
from hsd_viz.views.export import run_page
from tests.changes import change_row
from tests.views.make_trace import make_trace

from .conftest import PATIENCE, ROOT, Page, quiet

pytestmark = pytest.mark.browser

TOKENS = ".hsd-out .hsd-tok"
TABS = ("Watch", "Why", "Databases", "Time", "Compare", "Your traffic")
NASTY = 'def f():\n    return "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"\n\n\ndef g():\n    return "<scr'
WIDE = "document.querySelector('.hsd-app').scrollWidth - document.querySelector('.hsd-app').clientWidth"
#: Controls that come before the first generated token by the Tab key: of the tabs, one.
BEFORE = """() => {
  const text = document.querySelector(".hsd-out");
  const all = document.querySelectorAll(".hsd-app :is(a[href], button, input, select, textarea, summary, [tabindex='0']):not([tabindex='-1'])");
  const top = text.getBoundingClientRect().top;
  const drawn = (e) => e.checkVisibility({ contentVisibilityAuto: true }) && !e.closest(".hsd-scroll");
  return [...all].filter((e) => drawn(e) && e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < top).length;
}"""
#: The page cancels by itself, as soon as a live run shows text: on a busy machine a run would end before a test could.
CANCEL = """(tokens) => {
  const watch = new MutationObserver(() => {
    if (document.querySelector(".hsd-badge").textContent.trim() !== "Live run") return;
    if (document.querySelectorAll(tokens).length <= 5) return;
    watch.disconnect();
    document.querySelector(".hsd-form-switch").click();
  });
  watch.observe(document, { subtree: true, childList: true, characterData: true });
}"""
#: Pixels between the ends of the line and the passages that it connects.
LINK_ENDS = """() => {
  const path = document.querySelector(".hsd-link-line");
  const origin = document.querySelector(".hsd-text").getBoundingClientRect();
  const distance = (point, selector) => {
    const x = point.x + origin.left;
    const y = point.y + origin.top;
    const boxes = [...document.querySelectorAll(selector)].flatMap((e) => [...e.getClientRects()]);
    return Math.min(...boxes.map((box) => Math.hypot(
      Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom))));
  };
  const whole = path.getTotalLength();
  return {
    from: distance(path.getPointAtLength(0), ".hsd-lit"),
    to: distance(path.getPointAtLength(whole), ".hsd-out .hsd-copy"),
  };
}"""
#: A file dropped on an element.
LOG_FIELD = ".hsd-drop-field input[accept^='.jsonl']"
DROP = """([selector, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const target = document.querySelector(selector);
  for (const kind of ["dragover", "drop"])
    target.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def field(page, label: str):
    return page.get_by_label(label, exact=True)


def opened(open_page, url: str, width: int = 1440, height: int = 900) -> Page:
    shown = open_page(width)
    shown.page.set_viewport_size({"width": width, "height": height})
    shown.page.goto(url, wait_until="domcontentloaded")
    # A comparison hides the text of the run.
    shown.page.wait_for_selector(TOKENS, state="attached")
    return shown


def tab(page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.locator(".hsd-panel [aria-busy]")).to_have_count(0, timeout=PATIENCE)
    quiet(page)


def violations(page) -> list[str]:
    """What axe-core finds on the page as it is; nothing is excepted."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    report = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    said = []
    for violation in report["violations"]:
        for node in violation["nodes"]:
            said.append(f"{violation['id']}: {node['html'][:160]}")
    return said


#: Pixels that the page is high at most with each tab, on a screen of 1440 × 900: what a reader needs first is open.
HIGHEST = {
    "Watch": 1300,
    "Why": 1500,
    "Databases": 1650,
    "Time": 2000,
    "Compare": 2900,
    "Your traffic": 2350,
}
HEIGHT = "document.querySelector('.hsd-app').getBoundingClientRect().height"
#: Pixels between the last content of a tab and what follows it.
VOID = """() => {
  const panel = document.querySelector(".hsd-panel");
  const ends = [...panel.querySelectorAll("*")]
    .filter((e) => e.checkVisibility() && !e.querySelector(":scope > *") && e.getClientRects().length)
    .map((e) => e.getBoundingClientRect().bottom);
  return panel.getBoundingClientRect().bottom - Math.max(...ends);
}"""


def of_run(page, name: str | re.Pattern[str]) -> None:
    """Choose an item of the menu of the run."""
    page.get_by_role("button", name=re.compile("^Run: files")).click()
    page.get_by_role("menuitem", name=name).click()


def test_the_bar_of_the_run_is_one_row_and_its_menu_opens_by_keyboard(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    button = page.get_by_role("button", name=re.compile("^Run: files"))
    for width, tallest in ((1440, 52), (420, 52)):
        page.set_viewport_size({"width": width, "height": 900})
        for name in TABS[:4]:
            tab(page, name)
            bar = page.locator(".hsd-runbar").bounding_box()
            assert bar["height"] <= tallest, f"{name} at {width}"
            tabs = page.get_by_role("tablist").bounding_box()
            subject = page.locator(".hsd-panel" if name != "Watch" else ".hsd-hero")
            assert abs(bar["y"] - tabs["y"] - tabs["height"]) <= 12
            if name != "Watch":
                assert subject.bounding_box()["y"] - bar["y"] - bar["height"] <= 30, name
    button.focus()
    page.keyboard.press("Enter")
    items = page.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(items.last).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(items.first).to_be_hidden()
    expect(button).to_be_focused()
    shown.check()


def test_a_copied_passage_is_connected_with_its_source(open_page, voila):
    """On first sight an example is; then the selected token, by its recorded position."""
    shown = opened(open_page, voila)
    page = shown.page
    line = page.locator(".hsd-link-line")
    expect(line).to_be_in_viewport()
    expect(page.locator(".hsd-prompt .hsd-lit").first).to_be_in_viewport()
    expect(page.locator(".hsd-copied")).to_contain_text("Copied from the prompt")
    before = line.get_attribute("d")
    copied = page.locator(".hsd-out .hsd-tok[data-family=context]").first
    copied.click()
    expect(line).not_to_have_attribute("d", before)
    source = page.locator(".hsd-prompt .hsd-lit").all_inner_texts()
    assert copied.inner_text() in source
    ends = page.evaluate(LINK_ENDS)
    assert ends["from"] <= 6 and ends["to"] <= 10, ends
    # The target's own token was copied from nowhere.
    page.locator(".hsd-out .hsd-tok[data-kind=correction]").first.click()
    expect(line).to_have_count(0)
    expect(page.locator(".hsd-copied")).to_be_empty()
    shown.check()


def test_a_tab_is_read_from_its_beginning(open_page, voila):
    """Also where the page was scrolled: the tabs go to the top, with what a reader needs first."""
    shown = opened(open_page, voila)
    page = shown.page
    for name in (*TABS[1:], TABS[0]):
        page.evaluate("document.querySelector('.hsd-foot').scrollIntoView()")
        quiet(page)
        tab(page, name)
        main = page.locator(".hsd-main").bounding_box()
        assert main["y"] >= -1, name
    first = [".hsd-main > .hsd-headline", ".hsd-hero", ".hsd-text-view"]
    for part in first:
        expect(page.locator(part)).to_be_in_viewport(ratio=0.75)
    expect(page.locator(".hsd-tile").first).not_to_be_in_viewport(ratio=1)
    shown.check()


@pytest.mark.parametrize(("scheme", "widths"), [("light", (1440, 420)), ("dark", (420, 1440))])
def test_every_tab_is_drawn_and_accessible(open_page, voila, scheme, widths):
    shown = opened(open_page, f"{voila}?theme={scheme}", widths[0])
    page = shown.page
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("scrollTo(0, 0)")
        quiet(page)
        assert page.evaluate("localStorage.getItem('hsd_viz.theme')") is None, (
            "a link decides for its page alone"
        )
        # The prompt comes before the answer: what was copied is there.
        assert page.locator(TOKENS).first.bounding_box()["y"] <= (640 if width > 900 else 610)
        assert page.evaluate(BEFORE) <= 20
        expect(page.locator(".hsd-header p")).to_contain_text("Speculative decoding:")
        for name in TABS:
            page.evaluate("document.querySelector('.hsd-app').scrollIntoView()")
            quiet(page)
            header = page.locator(".hsd-header").bounding_box()
            bar = page.get_by_role("tablist").bounding_box()
            below = bar["y"] - header["y"] - header["height"]
            assert 0 <= below <= 12, f"before {name}: the tabs are below the header"
            tab(page, name)
            assert page.evaluate(VOID) <= 80, f"{name} ends with nothing"
            assert page.evaluate(WIDE) <= 0, f"{name} is wider than the page"
            assert page.locator(".hsd-notice:not([hidden])").count() == 0, name
            assert violations(page) == [], name
            if widths[0] == width == 1440:  # before parts are opened
                assert page.evaluate(HEIGHT) <= HIGHEST[name], f"{name} is out of proportion"
            parts = page.get_by_role("navigation", name="Parts of this tab").get_by_role("link")
            if parts.count():
                parts.last.click()
                part = page.get_by_role("group", name=parts.last.inner_text(), exact=True)
                expect(part).to_be_focused()
                expect(part).to_be_in_viewport()
                if width > 900 and name not in ("Compare", "Your traffic"):
                    expect(page.locator(".hsd-player-main")).to_be_in_viewport()
        # Ghost counts are part of their line.
        tab(page, "Watch")
        high = page.evaluate(
            "[...document.querySelectorAll('.hsd-stream .hsd-more')].map((e) => e.getBoundingClientRect().height)"
        )
        assert not high or max(high) < 40
    shown.check()


def test_the_cursor_is_one_for_keys_pointer_staircase_and_text(open_page, voila):
    shown = opened(open_page, f"{voila}?trace=both&step=5&tab=why")
    page = shown.page
    expect(page.locator(".hsd-out [aria-selected=true]")).to_have_count(1)
    slider = page.get_by_role("slider", name="Events of the run")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("event 5 of"))
    expect(page.get_by_role("tab", name="Why", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    slider.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("event 2 of"))
    page.keyboard.press("Shift+ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^Round 2 of"))
    page.keyboard.press("Enter")
    expect(page.locator(".hsd-rounds .hsd-stairs-pinned")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    expect(page.locator(".hsd-player-main")).to_have_attribute("aria-label", "Pause (Space)")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    # The text is closed beside a tab; a rejected token of it can be selected.
    expect(page.locator(".hsd-stream .hsd-legend")).to_be_hidden()
    assert page.locator(".hsd-text-view").bounding_box()["height"] < 100
    of_run(page, "Show the text")
    expect(page.locator(".hsd-stream .hsd-legend")).to_be_visible()
    page.locator(".hsd-out .hsd-ghost").first.click()
    expect(page.locator(".hsd-stream .hsd-facts")).to_be_visible()
    strip = slider.bounding_box()
    page.mouse.click(strip["x"] + strip["width"] / 2, strip["y"] + strip["height"] / 2)
    expect(page.locator(".hsd-rounds .hsd-stairs-later")).to_be_visible()
    # From the tabs, by keys alone.
    page.get_by_role("tab", name="Why", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Databases", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    assert "tab=databases" in page.url and "trace=both" in page.url
    page.go_back()
    expect(page.get_by_role("tab", name="Why", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    # Databases shows who supplied the tokens, Time what the levels took; a ribbon lights the tokens of its source.
    rows = {}
    for name in ("Databases", "Time"):
        tab(page, name)
        rows[name] = set(page.locator(".hsd-panel .hsd-tl-who").all_inner_texts())
    assert rows["Databases"] & rows["Time"] == {"rounds"} and {"target", "idle"} < rows["Time"]
    ribbon = page.locator(".hsd-pn-ribbons g[tabindex]").first
    ribbon.focus()
    family = ribbon.get_attribute("data-family")
    expect(page.locator(".hsd-out .hsd-lit2")).to_have_count(
        page.locator(f".hsd-out .hsd-tok[data-family={family}]").count()
    )
    page.get_by_role("tab", name="Time", exact=True).focus()
    expect(page.locator(".hsd-out .hsd-lit2")).to_have_count(0)
    shown.check()


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
    expect(page.locator(".hsd-hierarchy")).to_be_visible()
    assert page.evaluate("window.pwned") is None
    text = page.locator(".hsd-out").text_content()
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS, state="attached")
    expect(page.locator(TOKENS)).to_have_count(24)
    assert page.locator(".hsd-out").text_content() == text and "trace=here" in page.url
    # Questions about a run of the kernel before.
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
        of_run(page, re.compile("^Trace"))
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    assert len(hsd.Trace.load(path)) == page.locator(TOKENS).count()
    with page.expect_file_chooser() as chooser:
        of_run(page, "Open a trace")
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


def test_the_tour_goes_through_its_stops_and_gives_the_run_back(open_page, voila):
    shown = opened(open_page, f"{voila}?trace=both&theme=dark")
    page = shown.page
    of_run(page, "Take the tour")
    card = page.locator(".hsd-tour-card")
    expect(card).to_be_visible()
    titles = []
    for k in range(8):
        expect(card.locator(".hsd-tour-count")).to_have_text(f"{k + 1} of 8")
        expect(page.locator(".hsd-tour-lit")).to_have_count(1)
        assert k or violations(page) == [], "its text is readable in the dark"
        titles.append(card.locator(".hsd-tour-title").inner_text())
        card.locator(".hsd-tour-next").click()
    assert len(set(titles)) == 8
    expect(card).not_to_be_visible()
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled("both").stack)
    shown.check()


@pytest.mark.parametrize(
    "media", [{"forced_colors": "active"}, {"reduced_motion": "reduce"}, {"media": "print"}]
)
def test_exported_pages_work_without_python_in_every_medium(chromium, tmp_path, media):
    run, *race = (
        load_bundled("both"),
        *(load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases")),
    )
    for trace in (run, *race):
        change_row(trace, "tokens", 1, source="logits")
    (tmp_path / "run.html").write_text(run_page(run), encoding="utf-8")
    (tmp_path / "stream.html").write_text(views.TokenStream(run).to_html(), encoding="utf-8")
    (tmp_path / "race.html").write_text(run_page(*race), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.emulate_media(**media)
    page.goto((tmp_path / "run.html").as_uri())
    page.wait_for_selector(TOKENS)
    expect(page.locator("#start")).to_have_count(0)
    assert page.locator(".hsd-controls").count() == 0
    for name in TABS if "media" not in media else ():
        tab(page, name)
        assert violations(page) == [], name
    if "media" not in media:
        tab(page, "Databases")
        with page.expect_download() as saved:
            of_run(page, re.compile("^Vector drawing"))
        drawn = ElementTree.parse(saved.value.path()).getroot()
        kinds = {element.tag.partition("}")[2] for element in drawn.iter()}
        assert {"svg", "path", "text", "rect"} <= kinds and "foreignObject" not in kinds
        charts = drawn.findall("{http://www.w3.org/2000/svg}svg")
        assert len(charts) == 2, "tokens by source, arcs"
        names = 0
        for element in drawn.iter():
            for value in element.attrib.values():
                assert "var(" not in value and "color(" not in value
            if element.text == "context database":
                names += 1
                assert element.get("fill").startswith("rgb")
        assert names
        tab(page, "Your traffic")
        cards = page.locator(".hsd-elsewhere")
        expect(cards.filter(has_text="Replaying a log")).to_contain_text("hsd-viz replay")
        expect(cards.filter(has_text="a record")).to_contain_text("hsd-viz doctor FILE")
        page.goto(f"{(tmp_path / 'race.html').as_uri()}?tab=compare")
        expect(page.locator(".hsd-vs-race")).to_be_visible()
    for name in ("run", "stream", "race") if "reduced_motion" in media else ():
        page.goto((tmp_path / f"{name}.html").as_uri())
        # Tokens of every source have its colour.
        red, green, blue = bytes.fromhex(HUES["logits"].light[1:])
        expect(page.locator(".hsd-tok[data-family=logits]").first).to_have_css(
            "color", f"rgb({red}, {green}, {blue})"
        )
    assert errors == []
    page.close()


def test_the_linked_view_of_another_package_that_the_docs_show_follows_the_cursor(
    chromium, tmp_path
):
    text = (ROOT / "docs" / "how-to" / "figures.md").read_text(encoding="utf-8")
    (block,) = [
        b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "LinkedView)" in b
    ]
    names = {"hsd": hsd}
    exec(block.partition("\n\n\nhsd.")[0], names)
    trace = load_bundled("both")
    stairs = views.Staircase(trace)
    own = names["Current"]()
    assert len(block.splitlines()) <= 40
    views.link(stairs, own)
    views.compose([stairs, own], cols=1).save(tmp_path / "x.html")
    page = chromium.new_page()
    page.goto((tmp_path / "x.html").as_uri())
    page.locator(".hsd-player-bar").press("End")
    expect(page.locator("#view-1")).to_have_text(trace.token_rows[-1].text)
    page.close()


def phase(page, name: str) -> None:
    page.wait_for_selector(f".hsd-game[data-phase={name}]", timeout=PATIENCE)


def test_a_newcomer_plays_by_keyboard_and_opens_the_own_game(open_page, voila):
    shown = open_page(1440, intro=True)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    write = page.get_by_label("Write what comes next")
    expect(write).to_be_focused(timeout=PATIENCE)
    assert page.locator(".hsd-main").is_hidden(), "the game has the page for itself"
    assert violations(page) == []
    players = page.locator(".hsd-gm-standings li")
    expect(players).to_contain_text(["You", "the context database", "a tiny model", "Plain"])
    place = page.locator(".hsd-gm-plot").bounding_box()
    figures = page.locator(".hsd-gm-standings strong")
    assert set(figures.all_inner_texts()) == {"0"}, "all players begin together"
    expect(page.locator(".hsd-gm-plot")).to_contain_text("Each pass adds a step here")
    page.keyboard.type("zzz yyy")
    page.keyboard.press("Enter")
    phase(page, "write")
    expect(page.locator(".hsd-gm-said")).to_contain_text("0 of 2 words accepted")
    expect(players.first).to_contain_text("after 1 pass")
    assert figures.last.inner_text() == "1", "the others have as many passes"
    box = page.locator(".hsd-gm-plot").bounding_box()
    assert box["x"] == place["x"], "the stairs are where the line was"
    assert box["y"] == place["y"], "the stairs are where the line was"
    focused = {"lesson": ".hsd-gm-next", "result": ".hsd-gm-time"}
    while (now := page.locator(".hsd-game").get_attribute("data-phase")) != "time":
        if now in focused:
            expect(page.locator(focused[now])).to_be_focused()
        elif page.locator(".hsd-gm-choice").count():
            page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_selector(".hsd-game:not([data-phase=reading])")
    phase(page, "time")
    expect(page.locator(".hsd-gm-verdict")).to_contain_text("passes are ")
    expect(page.locator(".hsd-gm-price input")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator(".hsd-gm-price strong")).to_have_text("100 % of a pass")
    expect(page.locator(".hsd-gm-verdict")).to_contain_text("passes are ")
    page.locator(".hsd-gm-presets button", has_text="GPU").press("Enter")
    expect(page.locator(".hsd-gm-price strong")).to_have_text("1 % of a pass")
    page.locator(".hsd-gm-exact").press("Enter")
    phase(page, "exact")
    expect(
        page.get_by_role("heading", name="Yes: the same text and the same chances")
    ).to_be_focused()
    expect(page.locator(".hsd-game")).to_contain_text("1000 tokens: ")
    assert page.locator(".hsd-gm-picture").count() == 0, "the darts have the screen for themselves"
    page.get_by_role("button", name="Throw 1 000").click()
    expect(page.locator(".hsd-game")).to_contain_text("towards 0: the pile becomes p.")
    assert violations(page) == []
    page.locator(".hsd-gm-explore").press("Enter")
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-game")).to_have_count(0)
    expect(page.locator(".hsd-run-select")).to_be_focused()
    expect(page.locator(".hsd-origin-stack")).to_have_text("you > target")
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    assert page.locator(".hsd-game").count() == 0, "it opens once"
    page.locator(".hsd-header-tools button", has_text="The game").click()
    expect(write).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-game")).to_have_count(0)
    shown.check()


def test_the_visitor_drafts_live(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    tab(page, "Why")
    page.get_by_role("link", name="You are the drafter", exact=True).click()
    page.locator(".hsd-df-live").click()
    expect(page.locator(".hsd-df-plot")).to_contain_text("nano:4 > target", timeout=PATIENCE)
    page.locator(".hsd-df-choices button").first.click()
    page.locator(".hsd-df-go").click()
    expect(page.locator(".hsd-df-result")).to_contain_text(
        re.compile(r"Accepted \d.*own token", re.DOTALL)
    )
    shown.check()


def test_views_and_charts_are_saved_as_pictures_in_both_themes(tmp_path):
    try:
        figures.pictures.chromium()
    except RuntimeError as error:
        pytest.skip(str(error))
    chart = views.Chart(figures.ranking(views.recorded()))
    for dark, page in ((False, "rgb(255, 255, 255)"), (True, "rgb(23, 24, 26)")):
        svg = chart.save(tmp_path / "x.svg", dark=dark, width=700).read_text()
        assert (
            svg.startswith("<svg")
            and "foreignObject" not in svg
            and "selected by the law" in svg
            and page in svg
        )
        assert 'width="700"' in svg
    png = chart.save(tmp_path / "x.png", width=700, scale=1).read_bytes()
    assert (
        int.from_bytes(png[16:20]) == 700
        and int.from_bytes(png[20:24]) == chart.figure.layout.height
    )
    trace = load_bundled("both")
    for view, mark in (
        (views.Staircase, "plain decoding"),
        (views.Timeline, "target"),
        (views.LocalityMap, "50"),
    ):
        svg = view(trace).save(tmp_path / "x.svg").read_text()
        assert (
            ElementTree.fromstring(svg).tag.endswith("svg")
            and f">{mark}<" in svg
            and "foreignObject" not in svg
        )
    for shown in (chart, views.RoundInspector(trace)):
        assert shown.save(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    png = (
        views.TokenStream(make_trace())
        .save(tmp_path / "x.png", width=700, scale=1, dark=True)
        .read_bytes()
    )
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20]) == 700
