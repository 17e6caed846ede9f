"""The page on paper, in forced colours, and with less motion."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz.figures.palette import HUES

from .conftest import quiet
from .test_explorer import SEEN, open_tab
from .test_reach import EXPORTED, FAINT, TEXTS, opened
from .test_voila import TOKENS, fill, idle

pytestmark = pytest.mark.browser
#: What can be seen and could be pressed, apart from menus and fields, which say what is shown.
PRESSED = """() => [...document.querySelectorAll(".hsd-app button, .hsd-page button, .hsd-controls *, .hsd-player button, .hsd-player select")]
  .filter((e) => e.checkVisibility() && !e.matches("[aria-selected=true], .hsd-sc-link, .hsd-vs-term"))
  .map((e) => `${e.tagName} ${e.className} ${e.textContent}`.slice(0, 60))"""
#: What reaches beyond the paper, or is cut off by the box it stands in.
CUT = """() => [...document.querySelectorAll(".hsd-app *, .hsd-page *")]
  .filter((e) => e.checkVisibility() && !e.closest(".main-svg, .hsd-heard, .hsd-nl") && e.getBoundingClientRect().width > 1)
  .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || (e instanceof HTMLElement
    && ["hidden", "auto", "scroll"].includes(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 2))
  .map((e) => `${e.tagName} ${e.className.baseVal ?? e.className} ${Math.round(e.getBoundingClientRect().right)}`.slice(0, 80))"""


def pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize(
    "title", [pytest.param(t, marks=() if t in ("Why", "Compare") else pytest.mark.slow) for t in SEEN]
)
def test_on_paper_a_tab_is_black_on_white_and_whole(open_page, voila, title):
    shown = opened(open_page, voila, 1400, "dark")
    page = shown.page
    open_tab(page, title)
    quiet(page)
    # What comes out of the printer, laid out from the dark page as it stands: more than the one window that was on the screen.
    assert pages(page.pdf()) > 1
    expect(page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    # Nothing is under the pointer, which would light up the place that a token was copied from.
    page.mouse.move(0, 0)
    quiet(page)
    assert page.evaluate(PRESSED) == []
    assert page.evaluate(CUT) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".hsd-dark").count() == 0
    assert page.evaluate(FAINT, f"{TEXTS}, .hsd-app p, .hsd-app td, .hsd-app h3") == []
    # Which tab it is, stands above it; the sources keep the colours that the legend explains.
    expect(page.get_by_role("tab", name=title, exact=True)).to_be_visible()
    assert page.get_by_role("tab").filter(visible=True).count() == 1
    hue = "rgb({}, {}, {})".format(*bytes.fromhex(HUES["context"].light[1:]))
    for what, where in (
        ("background-color", '.hsd-swatch[data-family="context"]'),
        ("color", '.hsd-out .hsd-tok[data-family="context"]'),
    ):
        assert (
            page.locator(where).first.evaluate("(e, what) => getComputedStyle(e).getPropertyValue(what)", what) == hue
        )
    shown.check()


@pytest.mark.parametrize("what", EXPORTED)
def test_an_exported_page_prints_whole(chromium, tmp_path, what):
    make, token = EXPORTED[what]
    path = tmp_path / "run.html"
    path.write_text(make(), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1400, "height": 1000}, color_scheme="dark")
    page.goto(path.as_uri())
    page.wait_for_selector(token)
    assert pages(page.pdf()) > 1
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 690, "height": 1000})
    quiet(page)
    assert page.evaluate(PRESSED) == [] and page.evaluate(CUT) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(FAINT, f"{TEXTS}, p, td, h1, h3, dt, dd, footer") == []
    page.close()


@pytest.mark.slow
def test_forced_colours_keep_what_is_told_by_shape(open_page, voila):
    shown = opened(open_page, voila, 1400, "dark")
    page = shown.page
    page.emulate_media(forced_colors="active")
    page.locator(f'{TOKENS}[data-kind="correction"]').nth(2).click()
    page.mouse.move(4, 4)
    looks = page.evaluate(
        """() => {
        const style = (selector) => getComputedStyle(document.querySelector(selector));
        return {
          pinned: style(".hsd-out .hsd-pinned").outlineStyle,
          accepted: style('.hsd-out [data-kind="accepted"]').borderBottomStyle,
          correction: style('.hsd-out [data-kind="correction"]:not(.hsd-pinned)').outlineStyle,
          swatches: new Set([...document.querySelectorAll(".hsd-key .hsd-swatch")].map((s) => getComputedStyle(s).backgroundColor)).size,
        };
      }"""
    )
    assert looks["pinned"] == "solid" and looks["accepted"] == "solid" and looks["correction"] == "dashed"
    assert looks["swatches"] == page.locator(".hsd-key .hsd-swatch").count() > 2
    shown.check()


@pytest.mark.parametrize("less", [False, True])
def test_who_asks_for_less_motion_sees_nothing_move_by_itself(open_page, voila, less):
    shown = open_page()
    page = shown.page
    page.emulate_media(reduced_motion="reduce" if less else "no-preference")
    moving = "document.getAnimations().filter((a) => a.playState === 'running').length"
    page.goto(voila, wait_until="commit")
    page.wait_for_selector("#loading")
    assert (page.evaluate(moving) == 0) is less
    page.wait_for_selector(TOKENS)
    fill(page, "Stack", "target")
    fill(page, "New tokens", "600")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".hsd-live .hsd-out .hsd-tok")
    assert (page.evaluate(moving) == 0) is less
    page.keyboard.press("Enter")
    idle(page)
    shown.check()
