"""A kernel that waited for its visitor: it has the page ready, and hears only from the browser what the address asks for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.listen import free_port
from hsd_viz.views.app.server import command
from hsd_viz.views.events import events_of

from .conftest import PATIENCE, Page, _offline, server
from .test_voila import TOKENS, field

pytestmark = pytest.mark.browser
RUNS = bundled()
NAMES = [r.name for r in RUNS]


@pytest.fixture(scope="module")
def heated(tmp_path_factory):
    """The dashboard as ``hsd-viz dashboard`` serves it unless it is told otherwise."""
    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, None, preheat=True)
    log = tmp_path_factory.mktemp("log") / "preheated"
    with folder, server(arguments, _offline(environment), f"http://127.0.0.1:{port}/voila/static/x", log):
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def visit(chromium):
    pages: list[Page] = []

    def opened(url: str) -> tuple[Page, list]:
        """A page, and what it sent over its websocket."""
        shown, sent = Page(chromium), []
        shown.page.on("websocket", lambda ws: ws.on("framesent", lambda frame: sent.append(frame)))
        shown.page.goto(url, wait_until="domcontentloaded", timeout=PATIENCE)
        shown.page.wait_for_selector(TOKENS)
        pages.append(shown)
        return shown, sent

    yield opened
    for shown in pages:
        shown.page.close()


def told_its_query(sent: list) -> bool:
    """Whether the kernel had to be told: it was there before the visitor."""
    return any(b'"query"' in (frame if isinstance(frame, bytes) else frame.encode()) for frame in sent)


def expect_run(page, name: str) -> None:
    trace = load_bundled(name)
    expect(page.locator(".hsd-origin-stack")).to_have_text(trace.meta["stack_resolved"])
    expect(page.locator(f'{TOKENS}[data-kind="accepted"][data-i]')).to_have_count(
        sum(t.kind == "accepted" for t in trace.token_rows)
    )


def test_the_address_s_run_and_step_come_to_a_kernel_that_waited(heated, visit):
    name = NAMES[-1]
    events = events_of(load_bundled(name))
    shown, sent = visit(f"{heated}?trace={name}&step={len(events) // 2}")
    expect(shown.page.locator(".hsd-player-place")).to_contain_text(f"event {len(events) // 2} of {len(events)}")
    expect_run(shown.page, name)
    expect(field(shown.page, "Recording")).to_have_value(RUNS[-1].label)
    assert told_its_query(sent)
    shown.check()


def test_without_a_query_it_shows_the_first_run_and_each_visitor_has_a_kernel_of_their_own(heated, visit):
    first, _ = visit(heated)
    field(first.page, "Recording").select_option(RUNS[-1].label)
    expect_run(first.page, NAMES[-1])
    second, _ = visit(heated)
    expect_run(second.page, NAMES[0])
    expect_run(first.page, NAMES[-1])
    first.check()
    second.check()


def test_a_query_in_vain_is_told(heated, visit):
    shown, _ = visit(f"{heated}?trace=nonesuch&theme=light")
    expect(shown.page.get_by_role("alert")).to_contain_text("No recording is named 'nonesuch'")
    expect_run(shown.page, NAMES[0])
    shown.check()


def test_the_dark_theme_is_dark_there_too(heated, visit):
    shown, _ = visit(f"{heated}?theme=dark&trace={NAMES[1]}")
    expect(shown.page.locator(".hsd-stream.hsd-dark")).to_have_count(1)
    expect_run(shown.page, NAMES[1])
    shown.check()
