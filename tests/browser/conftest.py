"""Real servers, a real browser. Servers listen on 127.0.0.1 on a free port and end with the
tests, or by themselves after a while.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hsd_viz.machine import free_port
from hsd_viz.views.site import build

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Milliseconds; pages share two cores with whatever else runs.
PATIENCE = 120_000
#: Seconds after which a server ends by itself, should the tests be killed before they can end it.
SERVER_LIFE = 3600


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    if CHROMIUM is None:
        pytest.skip(
            "Chromium is missing; to install it: apt-get install chromium "
            "(macOS: brew install chromium)"
        )
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def built_site(tmp_path_factory) -> Path:
    """The folder that ``hsd-viz site build`` writes; its name has a space. All workers of a run
    share it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    out = folder / "built" / "a site"
    out.parent.mkdir(exist_ok=True)
    with (folder / "built.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            build(out)
    return out


#: Resolves when nothing changed for so many frames: no node, no place of a scrolled pane, no size,
#: no animation.
QUIET = """(frames) => new Promise((rest, fail) => {
  let left = frames;
  const begun = performance.now(), again = () => { left = frames; };
  const watch = new MutationObserver(again);
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  watch.observe(document, all);
  document.addEventListener("scroll", again, true);
  window.addEventListener("resize", again);
  const endless = (a) => a.effect.getComputedTiming().iterations === Infinity;
  const moves = (a) => a.playState === "running" && !endless(a);
  const end = (over) => {
    watch.disconnect();
    document.removeEventListener("scroll", again, true);
    window.removeEventListener("resize", again);
    over(new Error("the page does not come to rest"));
  };
  const frame = () => {
    if (document.getAnimations().some(moves)) again();
    if (left-- <= 0) end(rest);
    else if (performance.now() - begun > PATIENCE) end(fail);
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}).then(() => true)""".replace("PATIENCE", str(PATIENCE))


def quiet(page, frames: int = 12) -> None:
    """Wait until the page has drawn what it had to draw, however slow it is."""
    page.evaluate(QUIET, frames)


class Page:
    """A page that records its errors, and requests that would leave the machine."""

    def __init__(self, browser, width: int = 1400, intro: bool = False) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 1000})
        self.page.set_default_timeout(PATIENCE)
        # The introduction plays once; a test of its own shows it.
        if not intro:
            self.page.add_init_script(
                "try { localStorage.setItem('hsd_viz.game', 'yes') } catch {}"
            )
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        self.page.on("request", lambda request: self._request(request.url))
        self.page.on("websocket", lambda socket: self._request(socket.url))
        # Other machines are never reached: a test has to fail for the right reason offline, too.
        self.page.route(lambda url: not _local(url), lambda route: route.abort())

    def _request(self, url: str) -> None:
        if not _local(url):
            self.outside.append(url)

    def check(self) -> None:
        """Fail on a page error or a request to another machine."""
        assert not self.errors, chr(10).join(self.errors)
        assert self.outside == []


def _local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:", "about:"))


@pytest.fixture
def open_page(chromium):
    pages: list[Page] = []

    def opened(width: int = 1400, intro: bool = False) -> Page:
        pages.append(Page(chromium, width, intro))
        return pages[-1]

    yield opened
    for page in pages:
        page.page.close()


@contextmanager
def server(
    arguments: list[str], environment: dict[str, str], health: str, log: Path
) -> Iterator[None]:
    """Run a server in its own process group, wait until it answers, and end the group."""
    limit = [shutil.which("timeout"), str(SERVER_LIFE)] if shutil.which("timeout") else []
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*limit, *arguments],
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(health, process, log)
        yield
    finally:
        # `timeout` leads the session; with SIGTERM the server ends its kernels first.
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, sign)
                process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def _wait(url: str, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError as error:
            if getattr(error, "code", None):  # it answers, if only with an error
                return
            time.sleep(0.3)
    raise AssertionError(f"the server did not come up:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="session")
def voila(tmp_path_factory) -> Iterator[str]:
    """The dashboard as ``hsd-viz dashboard`` serves it."""
    from hsd_viz.views.app.server import command

    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, None)
    log = tmp_path_factory.mktemp("log") / "voila"
    with (
        folder,
        server(arguments, _offline(environment), f"http://127.0.0.1:{port}/voila/static/x", log),
    ):
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Iterator[str]:
    """JupyterLab over a copy of the notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", ignore=shutil.ignore_patterns(".*"))
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False})
    )
    port = free_port()
    arguments = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder / 'notebooks'}",
        "--IdentityProvider.token=",
        f"--LabApp.user_settings_dir={folder / 'settings'}",
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
    ]
    with server(
        arguments,
        _offline(dict(os.environ)),
        f"http://127.0.0.1:{port}/api",
        tmp_path_factory.mktemp("log") / "lab",
    ):
        yield f"http://127.0.0.1:{port}/lab/tree/"


def _offline(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "HF_HUB_OFFLINE": "1"}
