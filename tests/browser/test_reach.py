"""Whom the page reaches: axe-core over every tab and state of it, the keyboard alone from load to a saved trace, its outline, paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.standalone import page as standalone
from hsd_viz.views.standalone_versus import page as race

from .conftest import quiet
from .test_explorer import SEEN, open_tab, place
from .test_voila import TOKENS, fill, idle

pytestmark = pytest.mark.browser
#: axe leaves text that overlaps something to people: here its colours are counted all the same, opacity of what it stands in included.
#: Returns what has too little contrast, among the texts that match a selector.
FAINT = """(selector) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const light = (colour) => colour.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const found = new Map();
  for (const node of document.querySelectorAll(selector)) {
    if (!node.checkVisibility({ visibilityProperty: true }) || !node.textContent.trim()) continue;
    const chain = [];
    for (let n = node; n; n = n.parentElement) chain.unshift(getComputedStyle(n));
    let ground = [255, 255, 255];
    let opacity = 1;
    for (const style of chain) {
      opacity *= Number(style.opacity);
      ground = over(rgba(style.backgroundColor), ground);
    }
    const ink = rgba(chain.at(-1).color);
    ink[3] *= opacity;
    const [high, low] = [light(over(ink, ground)), light(ground)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.set(`${node.className} ${node.dataset.family || ""}`, Math.round(100 * ratio) / 100);
  }
  return [...found];
}"""
TEXTS = ".hsd-tok, .hsd-ptok, .hsd-ghost, .hsd-ghost-count, .hsd-vs-tok, .hsd-vs-round, .hsd-player-words, .hsd-sc-chip, .hsd-tile-note"


def violations(page) -> list[str]:
    """What axe-core finds on the page as it is. Nothing is excepted: what ipywidgets, plotly and Voilà leave nameless is named by us."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    rules = [
        (v["impact"], v["id"], node["target"], node["html"][:160]) for v in found["violations"] for node in v["nodes"]
    ]
    return [*map(str, rules), *(f"contrast {name}: {ratio}" for name, ratio in page.evaluate(FAINT, TEXTS))]


def clear(page, where: str) -> None:
    assert violations(page) == [], where


def opened(open_page, voila: str, width: int, theme: str):
    shown = open_page(width)
    shown.page.goto(f"{voila}?theme={theme}", wait_until="domcontentloaded")
    shown.page.wait_for_selector(TOKENS)
    shown.page.wait_for_selector(".hsd-player-bar")
    return shown


def open_details(page) -> None:
    page.evaluate("document.querySelectorAll('.hsd-app details').forEach((d) => { d.open = true; })")
    quiet(page)


def test_axe_finds_what_is_wrong(open_page):
    """The net holds: a page with one fault of each kind is not clear."""
    page = open_page().page
    page.set_content(
        "<html lang='en'><title>t</title><main><h1>t</h1><img src='data:,'><button></button><input>"
        "<p class='hsd-ghost-count' style='color: #000; opacity: .3'>faint</p><p style='color: #999'>faint</p></main>"
    )
    found = " ".join(violations(page))
    assert all(
        rule in found for rule in ("image-alt", "button-name", "'label'", "color-contrast", "contrast hsd-ghost-count")
    )


#: All pairs; those that tell most are of every day.
SLOW = [pytest.param(*pair, marks=pytest.mark.slow) for pair in ((1400, "dark"), (420, "light"))]
SIGHTS = [(1400, "light"), (420, "dark"), *SLOW]


@pytest.mark.parametrize(
    ("width", "theme"), [(1400, "light"), pytest.param(420, "dark", marks=pytest.mark.slow), *SLOW]
)
def test_axe_is_content_with_every_tab_and_state(open_page, voila, width, theme):
    shown = opened(open_page, voila, width, theme)
    page = shown.page
    expect(page).to_have_title(re.compile("hsd_viz"))
    assert page.evaluate("document.documentElement.lang") == "en" and page.locator("h1:visible").count() == 1
    clear(page, "as it opens")
    for title in SEEN:
        open_tab(page, title)
        open_details(page)
        clear(page, title)
    # Played, the text that is not out yet is dimmed; a token is pinned; the menu is open.
    page.get_by_role("button", name="Next round (Shift →)").click()
    page.get_by_role("button", name="Next round (Shift →)").click()
    expect(page.locator(f"{TOKENS}.hsd-later").first).to_be_attached()
    clear(page, "played")
    page.keyboard.press("Escape")
    page.locator(f'{TOKENS}[data-kind="correction"]').nth(2).click()
    expect(page.locator(".hsd-stairs-pinned")).to_have_count(1)
    open_details(page)
    clear(page, "pinned")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("menuitem").first).to_be_visible()
    clear(page, "save menu")
    page.keyboard.press("Escape")
    open_tab(page, "Compare")
    page.locator(".hsd-vs-slider").evaluate("e => { e.value = 300; e.dispatchEvent(new Event('input')); }")
    expect(page.locator(".hsd-vs-notyet").first).to_be_attached()
    clear(page, "race")
    page.locator(".hsd-tour-button").click()
    for _ in range(3):
        expect(page.locator(".hsd-tour-lit")).to_have_count(1)
        clear(page, page.locator(".hsd-tour-title").text_content())
        page.get_by_role("button", name="Next step (→)").click()
    page.get_by_role("button", name="Leave the tour (Esc)").click()
    fill(page, "Stack", "db > > target")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    clear(page, "error")
    open_tab(page, "Why")
    # Slow enough to be looked at.
    fill(page, "Stack", "target")
    fill(page, "New tokens", "600")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(
        "document.querySelector('.hsd-live') && document.querySelectorAll('.hsd-out .hsd-tok').length > 8"
    )
    clear(page, "running, with the figures of the run before")
    idle(page)
    fill(page, "Stack", "db > nano:4 > target")
    fill(page, "New tokens", "48")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(TOKENS)).to_have_count(48)
    idle(page)
    clear(page, "live run, over")
    shown.check()


#: The pages that open from a disk, and a token of theirs that can be clicked.
EXPORTED = {
    "run": (lambda: standalone(load_bundled("both")), f'{TOKENS}[data-kind="correction"]'),
    "race": (lambda: race([load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "both")]), ".hsd-vs-col"),
}


@pytest.mark.parametrize("what", EXPORTED)
@pytest.mark.parametrize(("width", "scheme"), SIGHTS)
def test_axe_is_content_with_an_exported_page(chromium, tmp_path, what, width, scheme):
    make, token = EXPORTED[what]
    path = tmp_path / "run.html"
    path.write_text(make(), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(token)
    clear(page, "as it opens")
    page.locator(token).nth(2).click()
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    clear(page, "pinned")
    page.close()
    assert errors == []


# --- the keyboard -------------------------------------------------------------------------------------------------------

FOCUSED = "e => e === document.activeElement"
#: What has the focus: its name, where what shows the focus stands, whether it lies under something, whether it is written in.
STOP = """() => {
  const e = document.activeElement;
  if (!e || e === document.body || !e.closest(".hsd-app")) return null;
  const box = e.getBoundingClientRect();
  const met = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]]
    .map(([x, y]) => document.elementFromPoint(box.x + box.width * x, box.y + box.height * y));
  // What is longer than its pane has the pane outlined.
  const pane = e.matches(".hsd-out, .hsd-sc-stage, .hsd-vs-score") && e.closest(".hsd-scroll, .hsd-sc-scroll, .hsd-vs-scroll");
  const shown = (pane || e).getBoundingClientRect();
  const name = e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join() || e.textContent.trim();
  return {
    name: `${e.tagName} ${name}`.slice(0, 60),
    box: [shown.left, shown.top, shown.right, shown.bottom],
    covered: !met.some((other) => other && (e.contains(other) || other.contains(e))),
    written: e.matches("textarea, input:not([type=checkbox], [type=radio], [type=range], [type=file])"),
  };
}"""
#: How the focused element, and what stands around it, is outlined.
OUTLINED = """() => {
  const found = [];
  for (let n = window.reached || document.activeElement, k = 0; n && k < 3; n = n.parentElement, k++) {
    const s = getComputedStyle(n);
    found.push(s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 1 ? "" : s.outline, s.boxShadow, s.borderColor);
  }
  return found.join("; ");
}"""


def press_to(page, target, key: str = "Tab", most: int = 120) -> None:
    """Press a key until ``target`` has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if target.count() and target.first.evaluate(FOCUSED):
            return
    raise AssertionError(f"{target} is not reached with {key}")


def write(page, text: str) -> None:
    """Put text in place of what stands in the field that has the focus."""
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def walk(page, most: int = 150) -> list[str]:
    """What is wrong on the way of the Tab key, from where it stands to the end of the page: no outline, or something lies over it."""
    wrong, (width, height) = [], (page.viewport_size["width"], page.viewport_size["height"])
    for stop in range(most):
        page.keyboard.press("Tab")
        at = page.evaluate(STOP)
        if at is None:
            assert stop > 3, "the way ends before it has begun"
            return wrong
        if at["covered"]:
            wrong.append(f"{at['name']} is covered")
            continue
        left, top, right, bottom = (
            max(0, min(v + pad, end))
            for v, pad, end in zip(at["box"], (-8, -8, 8, 8), (width, height) * 2, strict=True)
        )
        clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        look = (lambda: page.evaluate(OUTLINED)) if at["written"] else (lambda clip=clip: page.screenshot(clip=clip))
        focused = look()
        page.evaluate("() => { window.reached = document.activeElement; window.reached.blur(); }")
        if look() == focused:
            wrong.append(f"{at['name']} does not show that it has the focus")
        page.evaluate("() => { window.reached.focus({ preventScroll: true }); window.reached = null; }")
    raise AssertionError("the way has no end")


@pytest.mark.slow
def test_the_keyboard_alone_goes_from_load_to_a_saved_trace(open_page, voila):
    shown = opened(open_page, voila, 1400, "light")
    page = shown.page
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the run shown")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Recording", exact=True)).to_be_focused()

    # Choose a prompt, write a stack, run it, cancel it.
    presets, prompt = page.get_by_label("Prompt preset", exact=True), page.get_by_label("Prompt", exact=True)
    press_to(page, presets, "Shift+Tab")
    before = prompt.input_value()
    page.keyboard.press("ArrowDown")
    expect(prompt).not_to_have_value(before)
    press_to(page, page.get_by_label("Stack", exact=True))
    write(page, "target")
    press_to(page, page.get_by_label("New tokens", exact=True))
    write(page, "600")
    run, cancel = (page.get_by_role("button", name=name, exact=True) for name in ("Run", "Cancel"))
    press_to(page, run, "Shift+Tab")
    page.keyboard.press("Enter")
    # A button that can be pressed no longer hands the focus to the one that can.
    expect(cancel).to_be_focused()
    page.wait_for_function(
        "document.querySelector('.hsd-live') && document.querySelectorAll('.hsd-out .hsd-tok').length > 12"
    )
    page.keyboard.press("Space")
    expect(run).to_be_focused()
    expect(page.locator(".hsd-foot")).to_contain_text("cancelled")
    kept = page.locator(TOKENS).count()
    assert 12 < kept < 600

    # Keep it.
    save_button = page.get_by_role("button", name="Save", exact=True)
    press_to(page, save_button)
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    with page.expect_download() as coming:
        page.keyboard.press("Enter")
    assert len(Trace.load(_named(coming.value)).token_rows) == kept
    expect(save_button).to_be_focused()
    expect(save_button).to_be_enabled()

    # Step through it, pin a token and let it go.
    press_to(page, page.get_by_role("slider", name="Events of the run"))
    page.keyboard.press("Home")
    assert place(page) == [1, 1]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert place(page) == [3, 3]
    page.keyboard.press(".")
    assert place(page)[0] >= 3
    press_to(page, page.locator(".hsd-out"), "Shift+Tab")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-out .hsd-pinned")).to_have_count(0)

    # Every tab.
    tab = lambda title: page.get_by_role("tab", name=title, exact=True)
    first, *others = SEEN
    press_to(page, tab(first))
    for title in others:
        page.keyboard.press("ArrowRight")
        expect(tab(title)).to_be_focused()
        expect(tab(title)).to_have_attribute("aria-selected", "true")
        for what in SEEN[title]:
            expect(page.locator(f".hsd-panel {what}").locator("visible=true").first).to_be_visible()

    # There and back with the tour.
    tour = page.locator(".hsd-tour-button")
    press_to(page, tour, "Shift+Tab")
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="Guided tour")
    expect(card).to_be_visible()
    expect(card.get_by_role("button", name="Next step (→)")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".hsd-tour-count")).to_contain_text(re.compile(r"\b2\b"))
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(tour).to_be_focused()
    shown.check()


def _named(download) -> Path:
    """The file a browser keeps, under the name that it gives it."""
    path = Path(download.path())
    return path.rename(path.with_name(f"{path.name}-{download.suggested_filename}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "theme", "titles"), [(1400, "light", list(SEEN)), (420, "dark", ["Why", "Time", "Compare"])]
)
def test_what_has_the_focus_is_outlined_and_uncovered(open_page, voila, width, theme, titles):
    shown = opened(open_page, voila, width, theme)
    page = shown.page
    page.emulate_media(reduced_motion="reduce")
    quiet(page)
    assert walk(page) == []
    for title in titles[1:]:
        open_tab(page, title)
        page.get_by_role("tab", name=title, exact=True).focus()
        assert walk(page) == [], title
    # The form is closed, and the keyboard goes to the run first.
    expect(page.locator(".hsd-controls")).to_be_hidden()
    page.mouse.click(4, 4)
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("Boolean(document.activeElement.closest('.hsd-main, .hsd-controls'))"):
            break
    expect(page.get_by_label("Recording", exact=True)).to_be_focused()
    shown.check()
