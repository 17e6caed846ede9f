"""A page that loses its kernel says so, keeps what was written and run over a reload, and goes back; on a narrow page Run is near."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.app.server import command

from .conftest import free_port, server
from .test_voila import TOKENS, field, fill, idle, opened

pytestmark = pytest.mark.browser
#: Milliseconds for a kernel's first run, which loads the models.
FIRST_RUN = 240_000


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, None)
    log = tmp_path_factory.mktemp("log") / "voila"
    with (
        folder,
        server(arguments, {**environment, "HF_HUB_OFFLINE": "1"}, f"http://127.0.0.1:{port}/voila/static/x", log),
    ):
        yield f"http://127.0.0.1:{port}/"


def kernel_of(page) -> int:
    """The process of a page's kernel."""
    settings = json.loads(page.locator("#jupyter-config-data").text_content())
    found = subprocess.run(["pgrep", "-f", f"kernel-{settings['kernelId']}"], capture_output=True, text=True)
    return int(found.stdout.split()[0])


@pytest.mark.slow
def test_form_run_tab_and_recording_come_back(open_page, own_server):
    shown = opened(open_page, own_server)
    page, names = shown.page, [r.name for r in bundled()]
    menu, tab = field(page, "Recording"), lambda name: page.get_by_role("tab", name=name, exact=True)
    fill(page, "Prompt", "def kept(")
    fill(page, "New tokens", "12")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".hsd-badge")).to_have_text("Finished run", timeout=FIRST_RUN)
    idle(page)
    expect(page.locator(".hsd-verdict")).to_contain_text("Stopped: token limit.")
    page.wait_for_url("**trace=here*")
    text = page.locator(".hsd-out").text_content()
    tab("Time").click()
    page.wait_for_url("**tab=time*")
    menu.select_option(index=2)
    page.wait_for_url(f"**trace={names[1]}*")
    expect(field(page, "Prompt")).not_to_have_value("def kept(")
    page.get_by_role("button", name="Restore my prompt and settings").click()
    expect(field(page, "Prompt")).to_have_value("def kept(")
    page.go_back()
    expect(page.locator(".hsd-out")).to_have_text(text)
    page.go_back()
    expect(tab("Why")).to_have_attribute("aria-selected", "true")
    # The kernel reports the form after it has shown it.
    page.wait_for_function("JSON.parse(localStorage['hsd_viz.form']).form.prompt === 'def kept('")
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-out")).to_have_text(text)
    expect(field(page, "Prompt")).to_have_value("def kept(")
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    shown.check()


def test_a_dead_kernel_is_reported_in_seconds_and_reload_brings_the_form_back(open_page, own_server):
    shown = opened(open_page, own_server)
    page = shown.page
    fill(page, "Prompt", "def lost(")
    page.wait_for_function("JSON.parse(localStorage['hsd_viz.form'] ?? '{}').form?.prompt === 'def lost('")
    os.kill(kernel_of(page), signal.SIGKILL)
    banner = page.locator(".hsd-lost")
    expect(banner).to_be_visible(timeout=15_000)
    assert page.locator(".hsd-controls").get_attribute("inert") is not None
    banner.get_by_role("button", name="Reload").click()
    page.wait_for_selector(TOKENS)
    expect(field(page, "Prompt")).to_have_value("def lost(")
    expect(page.locator(".hsd-lost")).to_have_count(0)
    shown.check()


def test_on_a_narrow_page_a_run_is_two_presses_away(open_page, own_server):
    shown = opened(open_page, own_server, 420)
    page = shown.page
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_hidden()
    page.get_by_role("button", name="New run", exact=True).click()
    box = run.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 1000
    fill(page, "New tokens", "8")
    run.click()
    expect(page.locator(".hsd-controls")).to_be_hidden()
    expect(page.locator(TOKENS)).to_have_count(8, timeout=FIRST_RUN)
    shown.check()


def test_a_class_can_guess_what_follows_the_cursor(open_page, own_server):
    shown = opened(open_page, own_server)
    page = shown.page
    page.get_by_role("button", name="Keys", exact=True).click()
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Lecture mode", exact=True).click()
    expect(page.locator(".hsd-header")).to_be_hidden()
    page.get_by_role("button", name="Hide the future").click()
    for _ in range(8):
        page.locator(".hsd-out").press("ArrowRight")
    seen = page.locator(f"{TOKENS}:not(.hsd-later)").count()
    assert 0 < seen < len(load_bundled(bundled()[0].name).token_rows)
    visible = "all => all.filter((t) => getComputedStyle(t).visibility === 'visible').length"
    assert page.eval_on_selector_all(TOKENS, visible) == seen
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-header")).to_be_visible()
    assert page.eval_on_selector_all(TOKENS, visible) > seen
    shown.check()
