"""The notebook of marimo: it decodes, and its views share a cursor."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hsd_viz.machine import free_port
from tests.browser.conftest import ROOT, server

pytest.importorskip("marimo")
pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOTEBOOK = ROOT / "notebooks" / "first_steps_marimo.py"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of the notebook as an application."""
    folder: Path = tmp_path_factory.mktemp("marimo")
    port = free_port()
    options = ["--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", "marimo", "-q", "run", *options, str(NOTEBOOK)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    url = f"http://127.0.0.1:{port}"
    with server(command, environment, f"{url}/health", folder / "log"):
        yield url


def test_a_decode_is_shown_and_its_views_share_a_cursor(address, open_page):
    opened = open_page()
    page = opened.page
    page.goto(address)
    slider = page.locator("[role=slider][aria-label='Events of the run']")
    slider.wait_for()
    page.get_by_text("forward passes of the target").wait_for()
    tokens = page.locator(".hsd-stream .hsd-tok")
    tokens.first.wait_for()
    assert tokens.count() >= 48
    # marimo draws into a shadow root, which styles of the page do not reach.
    treads = page.locator(".hsd-stairs-treads").first
    assert treads.evaluate("e => getComputedStyle(e).stroke") != "none"
    slider.press("End")
    slider.press("Enter")
    page.locator(".hsd-stream .hsd-pinned").wait_for()
    # Another stack decodes again.
    before = page.get_by_text("forward passes of the target").inner_text()
    page.get_by_label("Stack").select_option("target")
    page.get_by_text("48 tokens in 48 forward passes").wait_for()
    assert before != page.get_by_text("forward passes of the target").inner_text()
    assert opened.errors == []
