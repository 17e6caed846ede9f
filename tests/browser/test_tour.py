"""The stack's blocks, the guided tour and the page's address, through Voilà, by mouse and by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.replay import load_bundled
from hsd_viz.views.events import events_of
from hsd_viz.views.tour import STOPS

from .conftest import PATIENCE, Page, quiet
from .test_voila import TOKENS, field, fill

pytestmark = pytest.mark.browser

#: The thing that the tour speaks of, as far as it can be seen: null, or how much of the card or the player lies over it (px), whether it
#: is within the window, and whether a pointer in its middle would meet it.
SEEN = """() => {
  const lit = document.querySelector(".hsd-tour-lit");
  if (!lit) return null;
  const box = lit.getBoundingClientRect(), card = document.querySelector(".hsd-tour-card").getBoundingClientRect();
  const player = document.querySelector(".hsd-transport").getBoundingClientRect();
  const over = (other) => Math.max(0, Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top))
    * Math.max(0, Math.min(box.right, other.right) - Math.max(box.left, other.left));
  const met = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
  return { covered: over(card) + (player.height ? over(player) : 0), inside: box.top >= 0 && box.bottom <= innerHeight,
    met: Boolean(met) && (lit.contains(met) || met.contains(lit)) };
}"""
SETTLED = f"() => {{ const s = ({SEEN})(); return s && s.covered === 0 && s.inside && s.met; }}"


def opened(open_page, url: str, width: int = 1400) -> Page:
    shown = open_page(width)
    goto(shown.page, url)
    return shown


def goto(page, url: str) -> None:
    page.goto(url, wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    page.wait_for_selector(".hsd-player-bar")


@pytest.fixture(scope="module")
def shared(chromium, voila):
    """One page for the tests of the blocks, as one person would use it."""
    page = Page(chromium)
    goto(page.page, voila)
    yield page
    page.page.close()


# --- blocks -------------------------------------------------------------------------------------------------------------


def blocks(page) -> list[str]:
    """The names of the blocks, bottom first, as they are written."""
    names = page.eval_on_selector_all(".hsd-blk", "all => all.map(b => b.dataset.key)")
    return [name.removeprefix("m:") for name in reversed(names)]


def expect_text(page, text: str) -> None:
    expect(field(page, "Stack")).to_have_value(text)


def test_blocks_follow_the_text_and_the_text_the_blocks(shared):
    page = shared.page
    fill(page, "Stack", "db[context,statistics]>nano:4 > target")
    expect(page.locator(".hsd-blk-item-name")).to_have_text(["context", "statistics"])
    assert blocks(page) == ["b", "nano", "target"]
    page.get_by_role("button", name="Add small as a draft model").click()
    expect_text(page, "db[context,statistics] > nano:4 > small:4 > target")
    page.get_by_role("button", name="Increase lookahead of small").click()
    page.get_by_role("button", name="Decrease lookahead of nano").click()
    expect_text(page, "db[context,statistics] > nano:3 > small:5 > target")
    page.get_by_role("button", name="Move nano up").click()
    expect_text(page, "db[context,statistics] > small:5 > nano:3 > target")
    page.get_by_role("button", name="Move statistics up").click()
    expect_text(page, "db[statistics,context] > small:5 > nano:3 > target")
    page.get_by_role("button", name="Remove context").click()
    expect_text(page, "db[statistics] > small:5 > nano:3 > target")
    page.get_by_role("button", name="Remove small").click()
    page.locator(".hsd-blk-name[data-key='b:name']").select_option("auto")
    expect_text(page, "auto[db,nano] > target")
    page.locator(".hsd-blk-check", has_text="small").click()
    expect_text(page, "auto > target")
    page.get_by_role("button", name="Remove auto").click()
    expect_text(page, "target")
    # A double click removes one block, not the one that moves under the pointer, too.
    fill(page, "Stack", "db > nano:4 > small:8 > target")
    page.get_by_role("button", name="Remove small").dblclick()
    expect_text(page, "db > nano:4 > target")
    quiet(page)
    expect_text(page, "db > nano:4 > target")
    shared.check()


def test_a_block_is_dragged_to_its_place(shared):
    page = shared.page
    fill(page, "Stack", "nano:4 > small:8 > target")
    expect(page.locator(".hsd-blk").nth(1)).to_have_attribute("data-key", "m:small")
    grip = page.locator('[data-key="m:nano"] .hsd-blk-grip')
    grip.scroll_into_view_if_needed()
    start, above = grip.bounding_box(), page.locator('[data-key="m:small"]').bounding_box()
    page.mouse.move(start["x"] + 5, start["y"] + 8)
    page.mouse.down()
    page.mouse.move(start["x"] + 5, above["y"] + 30, steps=4)
    page.mouse.move(start["x"] + 5, above["y"] + 4, steps=4)
    expect(page.locator(".hsd-blk-before")).to_have_count(1)
    page.mouse.up()
    expect_text(page, "small:8 > nano:4 > target")
    shared.check()


def test_the_blocks_by_keyboard_alone(shared):
    page = shared.page
    fill(page, "Stack", "nano:4 > small:8 > target")
    expect(page.locator(".hsd-blk").nth(1)).to_have_attribute("data-key", "m:small")
    page.locator('.hsd-blk[data-key="m:nano"]').focus()
    page.keyboard.press("+")
    expect_text(page, "nano:5 > small:8 > target")
    page.keyboard.press("Alt+ArrowUp")
    expect_text(page, "small:8 > nano:5 > target")
    expect(page.locator('.hsd-blk[data-key="m:nano"]')).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator('.hsd-blk[data-key="m:small"]')).to_be_focused()
    page.keyboard.press("Delete")
    expect_text(page, "nano:5 > target")
    expect(page.locator('.hsd-blk[data-key="m:target"]')).to_be_focused()
    # From there Tab comes to everything: the model's menu, the blocks beneath, and what can be added.
    for _ in range(20):
        if page.evaluate("document.activeElement.dataset.key") == "a:db":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_text(page, "db > nano:5 > target")
    expect(page.locator('.hsd-blk[data-key="b"]')).to_be_focused()
    number = page.get_by_role("spinbutton", name="Lookahead of nano")
    number.fill("12")
    number.press("Enter")
    expect_text(page, "db > nano:12 > target")
    number.fill("")
    number.press("Enter")
    expect_text(page, "db > nano > target")
    shared.check()


def test_bad_text_is_told_at_the_blocks_which_keep_what_was_good(shared):
    page = shared.page
    fill(page, "Stack", "db > nano:4 > target")
    expect(page.get_by_role("spinbutton", name="Lookahead of nano")).to_have_value("4")
    error = page.locator(".hsd-blk-error")
    fill(page, "Stack", "db > nano:99 > target")
    expect(error).to_contain_text("The lookahead 99 in 'nano:99' is out of range")
    expect(page.locator(".hsd-blk-kept")).to_have_text("Last valid stack: db > nano:4 > target")
    assert blocks(page) == ["b", "nano", "target"]
    fill(page, "Stack", "some/model > target")
    expect(error).to_contain_text("'some/model' is not allowed on this page")
    # Nothing but the ladder is offered here.
    assert page.locator(".hsd-blk-any").count() == 0
    page.get_by_role("button", name="Remove nano").click()
    expect_text(page, "db > target")
    expect(error).to_be_hidden()
    expect(page.locator(".hsd-blk-kept")).to_be_hidden()
    shared.check()


# --- the tour -----------------------------------------------------------------------------------------------------------


def begin(page) -> None:
    page.get_by_role("button", name="Take the tour").press("Enter")
    expect(page.get_by_role("button", name="Next step")).to_be_focused()


def at_step(page, number: int) -> None:
    """Wait for a step, and for what it points at to be in sight, beside the card."""
    expect(page.locator(".hsd-tour-count")).to_have_text(f"{number} of {len(STOPS)}")
    try:
        page.wait_for_function(SETTLED, timeout=PATIENCE / 4)
    except Exception as error:
        raise AssertionError(f"step {number}: {page.evaluate(SEEN)}") from error


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), pytest.param(420, "dark", marks=pytest.mark.slow)])
def test_the_tour_by_keyboard_shows_what_it_speaks_of(open_page, voila, width, theme):
    shown = opened(open_page, f"{voila}?theme={theme}", width)
    page = shown.page
    page.emulate_media(reduced_motion="reduce" if width < 700 else "no-preference")
    fill(page, "Prompt", "def mine(")
    begin(page)
    for number, step in enumerate(STOPS, 1):
        at_step(page, number)
        expect(page.locator(".hsd-tour-said")).to_have_attribute("aria-live", "polite")
        expect(page.locator(".hsd-tour-title")).to_have_text(step["title"])
        trace = load_bundled(step["recording"])
        expect(page.locator(".hsd-origin-stack")).to_have_text(trace.meta["stack_resolved"])
        accepted = sum(t.kind == "accepted" for t in trace.token_rows)
        expect(page.locator(f'{TOKENS}[data-kind="accepted"]')).to_have_count(accepted)
        expect(page.locator(".hsd-pinned").first).to_be_visible()
        place = page.locator(".hsd-player-place").text_content()
        number_of_event = int(place.split("event ")[1].split(" ")[0])
        assert f"of {len(events_of(trace))}" in place
        assert 1 <= number_of_event <= len(events_of(trace))
        if step["tab"]:
            expect(page.get_by_role("tab", name=step["tab"], exact=True)).to_have_attribute("aria-selected", "true")
        assert page.evaluate("document.querySelector('.hsd-app').scrollWidth <= innerWidth")
        # The first highlighted thing is what the step names, no stand-in for it.
        assert page.locator(".hsd-tour-lit").evaluate("(e, s) => e.matches(s)", step["targets"][0]), step["key"]
        if number == 2:
            page.keyboard.press("ArrowLeft")
            at_step(page, 1)
            page.keyboard.press("ArrowRight")
            at_step(page, 2)
        page.keyboard.press("ArrowRight")
    expect(page.locator(".hsd-tour-card")).to_be_hidden()
    expect(page.locator(".hsd-tour-lit")).to_have_count(0)
    expect(page.get_by_role("button", name="Take the tour")).to_be_focused()
    # What people wrote into the form is theirs.
    expect(field(page, "Prompt")).to_have_value("def mine(")
    shown.check()


def test_who_leaves_the_tour_finds_back_also_after_a_reload(open_page, voila):
    shown = opened(open_page, voila)
    page = shown.page
    begin(page)
    at_step(page, 1)
    page.get_by_role("button", name="Next step").click()
    at_step(page, 2)
    page.get_by_role("button", name="Next step").click()
    at_step(page, 3)
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-tour-card")).to_be_hidden()
    resume = page.get_by_role("button", name=f"Resume the tour (3/{len(STOPS)})")
    expect(resume).to_be_focused()
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    resume.click()
    at_step(page, 3)
    page.get_by_role("button", name="Start over").click()
    at_step(page, 1)
    page.get_by_role("button", name="Leave the tour").click()
    expect(page.get_by_role("button", name="Take the tour")).to_be_visible()
    shown.check()


@pytest.mark.parametrize("size", [pytest.param((800, 640), marks=pytest.mark.slow), (420, 620)], ids=str)
def test_in_a_low_window_the_card_makes_room_for_what_it_speaks_of(open_page, voila, size):
    shown = open_page(size[0])
    page = shown.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(reduced_motion="reduce")
    goto(page, voila)
    page.evaluate("sessionStorage.setItem('hsd_viz.tour', 'databases')")
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    page.get_by_role("button", name="Resume the tour").click()
    at_step(page, [stop["key"] for stop in STOPS].index("databases") + 1)
    assert page.locator(".hsd-tour-lit").first.is_visible()
    # The text is all there, to be scrolled, and so are the buttons.
    said = page.locator(".hsd-tour-said")
    assert said.bounding_box()["height"] > 50
    assert said.evaluate("e => e.scrollHeight <= e.clientHeight + 1 || e.tabIndex === 0")
    page.get_by_role("button", name="Next step").click()
    expect(page.locator(".hsd-tour-title")).to_have_text("A hierarchy")
    shown.check()


# --- the address --------------------------------------------------------------------------------------------------------


def test_an_address_opens_a_recording_at_its_step_and_the_link_to_it_is_the_same(open_page, voila):
    shown = opened(open_page, f"{voila}?trace=one-draft&step=26&theme=dark")
    page = shown.page
    trace = load_bundled("one-draft")
    expect(page.locator(".hsd-origin-stack")).to_have_text(trace.meta["stack_resolved"])
    expect(page.locator(".hsd-player-place")).to_contain_text(f"event 26 of {len(events_of(trace))}")
    expect(page.locator(f"{TOKENS}.hsd-pinned")).to_have_attribute("data-i", str(events_of(trace)[25].token))
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link to this step").click()
    expect(page.locator(".hsd-address-said")).to_have_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{voila}?trace=one-draft&step=26&theme=dark"
    # Without the clipboard the link is there to be copied by hand.
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    page.get_by_role("slider", name="Events of the run").press("ArrowRight")
    page.get_by_role("button", name="Copy link to this step").click()
    expect(page.get_by_label("Link to this step", exact=True)).to_have_value(
        f"{voila}?trace=one-draft&step=27&theme=dark"
    )
    shown.check()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "trace=../../etc/passwd&step=3&theme=blue",
            "No recording is named '../../etc/passwd'; the theme 'blue' is not 'light' or 'dark'.",
        ),
        ("trace=both&step=99999", "Step 99999 is out of range: the run has"),
        ("step=<img src=x onerror=window.pwned=1>", "is not a whole number from 1."),
    ],
)
def test_what_an_address_asks_in_vain_is_said_and_the_page_opens(open_page, voila, query, words):
    shown = opened(open_page, f"{voila}?{query}")
    page = shown.page
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.locator(f"{TOKENS}.hsd-pinned")).to_have_count(0)
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.body.dataset.jpThemeLight") == "true"
    shown.check()
