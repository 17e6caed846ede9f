"""The timeline in a page, by itself and beside the inspector."""

from __future__ import annotations

import pytest

from hsd_viz.engine.recordings import load_bundled
from hsd_viz.views.linked import RoundInspector, Timeline
from tests.rows import select

from .conftest import quiet
from .round_page import nodes, start, title

pytestmark = pytest.mark.browser


def at(page, area: dict, call, wall: int, lane: str) -> None:
    """Click a lane of the strip in the middle of a call's time."""
    name = page.locator(".hsd-tl-name", has=page.get_by_text(lane, exact=True)).bounding_box()
    page.mouse.click(
        area["x"] + area["width"] * (call.start_ns + call.duration_ns / 2) / wall,
        name["y"] + name["height"] / 2,
    )


def test_inspector_and_timeline_follow_one_cursor_both_ways(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("both")
    # The inspector below: it changes its height with the round, and the chart must stay under the
    # pointer.
    start(page, trace, Timeline, RoundInspector)
    tops = select(trace.round_rows, parent=None)
    # The scene opens on a round that was chosen for readers, and the chart on none.
    assert page.locator(".hsd-tl-here").count() == 0
    page.locator(".hsd-sc-play").press("Home")
    quiet(page)
    assert title(page) == f"Round 1 of {len(tops)}"
    assert len(nodes(page)) >= tops[0].drafted + (tops[0].outcome != "stopped")
    for n in (2, 3):
        page.get_by_role("button", name="Next round").click()
        quiet(page)
        assert title(page) == f"Round {n} of {len(tops)}"
    page.locator(".hsd-tl-area").scroll_into_view_if_needed()
    here = page.locator(".hsd-tl-here").bounding_box()
    area = page.locator(".hsd-tl-area").bounding_box()
    wall = trace.meta["wall_ns"]
    assert abs((here["x"] - area["x"]) / area["width"] - tops[2].start_ns / wall) < 0.01
    # A click on the longest call of a round in the middle goes to that round.
    middle = len(tops) // 2
    call = max(select(trace.call_rows, round=tops[middle].id), key=lambda c: c.duration_ns)
    at(page, area, call, wall, call.name)
    quiet(page)
    assert title(page) == f"Round {middle + 1} of {len(tops)}"
    assert page.locator(".hsd-tl-here.hsd-pinned").count() == 1
    assert f"{call.name} verifies" in page.text_content(".hsd-tl-readout")
    page.locator(".hsd-tl-area").focus()
    page.keyboard.press("Escape")
    quiet(page)
    assert page.locator(".hsd-pinned").count() == 0
    shown.check()


@pytest.mark.slow
def test_a_click_on_a_call_of_a_level_below_shows_the_round_it_served(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("both")
    start(page, trace, Timeline, RoundInspector)
    area = page.locator(".hsd-tl-area").bounding_box()
    call = max(
        select(trace.call_rows, name="nano", kind="verify"),
        key=lambda c: c.duration_ns,
    )
    wall = trace.meta["wall_ns"]
    at(page, area, call, wall, "nano")
    quiet(page)
    assert "nano’s round" in title(page)
    # A click on the target's own round goes back up.
    at(page, area, call, wall, "rounds")
    quiet(page)
    assert "nano’s round" not in title(page)
    # So does the inspector itself, whatever was pinned before: its own nodes can be pinned then.
    at(page, area, call, wall, "nano")
    page.locator(
        "[data-key][data-verdict=correction], [data-key][data-verdict=bonus]"
    ).first.click()
    assert page.locator(".hsd-sc-chip.hsd-pinned").count() == 1
    shown.check()


def test_what_is_drawn_out_of_sight_finds_its_form_when_it_is_shown(open_page):
    shown = open_page(420)
    page = shown.page
    page.evaluate("document.body.style.display = 'none'")
    start(page, load_bundled("one-draft"), RoundInspector, Timeline)
    assert page.locator(".hsd-tl-call").count() == 0
    page.evaluate("document.body.style.display = ''")
    page.wait_for_selector(".hsd-tl-call")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    shown.check()


def test_the_timeline_zooms_and_scrolls(open_page):
    shown = open_page()
    page = shown.page
    start(page, load_bundled("both"), Timeline)
    area = page.locator(".hsd-tl-area")

    def span() -> str:
        quiet(page)
        return page.text_content(".hsd-tl-range")

    whole = span()
    seen = {whole}
    assert page.get_by_role("button", name="This round").is_disabled()
    area.focus()
    acts = [
        lambda: page.keyboard.press("+"),
        lambda: page.keyboard.press("PageDown"),
        lambda: page.get_by_role("slider", name="Zoom").fill("5"),
        lambda: area.evaluate("e => e.scrollBy(200, 0)"),
        lambda: (area.press("ArrowRight"), page.get_by_role("button", name="This round").click()),
    ]
    for act in acts:
        act()
        assert span() not in seen
        seen.add(span())
    page.get_by_role("button", name="Whole run").click()
    assert span() == whole
    area.focus()
    page.keyboard.press("ArrowDown")
    first = page.text_content(".hsd-tl-readout")
    page.keyboard.press("ArrowDown")
    quiet(page)
    assert page.text_content(".hsd-tl-readout") != first
    shown.check()
