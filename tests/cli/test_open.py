"""``hsd-viz --open``: a server on loopback with the explorer and its runtime, until Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def opened(tmp_path):
    """Start the command with a browser that writes its address to a file; end it by Ctrl-C."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BROWSER": str(browser)}
    process = subprocess.Popen(
        [sys.executable, "-m", "hsd_viz", "--open"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    yield re.match(r"http://127\.0\.0\.1:\d+/", line)[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    assert (tmp_path / "opened").read_text().strip() in line


def get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return answer.read()


def test_the_explorer_and_what_it_decodes_with_are_served(opened):
    page = get(opened).decode()
    assert '<main class="hsd-page" id="explorer">' in page
    assert "Article" not in page
    manifest = json.loads(get(opened + "runtime/manifest.json"))
    wasm = get(opened + "runtime/hsd-viz.wasm")
    assert len(wasm) == manifest["files"]["hsd-viz.wasm"]["bytes"]
    assert get(opened + "recordings/mixed.json").startswith(b"{")
