"""Serve the dashboard as ``hsd-viz dashboard`` does, and open a browser for it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.views.app.server import command

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: What keeps the browser quiet: nothing is fetched, updated or synchronized while it is looked at.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
READY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs.

    Attributes:
        url: Its address, which ends in a slash.
        pid: Its process, whose children are the kernels.
    """

    url: str
    pid: int


@contextmanager
def served() -> Iterator[str]:
    """Serve the dashboard on a free port of 127.0.0.1 and yield its address, which ends in a
    slash.
    """
    with serving() as server:
        yield server.url


@contextmanager
def serving(*, preheat: bool = False, notebook: Path | None = None) -> Iterator[RunningServer]:
    """Serve it with the options of :func:`hsd_viz.views.app.server.command`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments, environment, folder = command(
        "127.0.0.1", port, None, preheat=preheat, notebook=notebook
    )
    with folder, tempfile.TemporaryDirectory() as logs:
        log = Path(logs) / "voila"
        with log.open("wb") as out:
            server = subprocess.Popen(
                arguments, env=environment, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            _wait(f"http://127.0.0.1:{port}/voila/static/x", server, log)
            yield RunningServer(f"http://127.0.0.1:{port}/", server.pid)
        finally:
            # With SIGTERM it ends its kernels first.
            server.terminate()
            server.wait()


def _wait(url: str, server: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:  # it answers, if only that there is no such file
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not come up:\n{log.read_text(errors='replace')[-3000:]}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium of this system; ``RuntimeError`` where there is none."""
    from playwright.sync_api import sync_playwright

    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        raise RuntimeError(
            "Chromium is missing; to install it: apt-get install chromium "
            "(macOS: brew install chromium)"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
