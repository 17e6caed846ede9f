"""Take docs/dashboard.png anew: serve the dashboard, open it in Chromium, pin a token. Run it after recording the traces anew."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from hsd_viz.serve import command

PICTURE = Path(__file__).parent / "dashboard.png"


def main() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments, environment, folder = command("127.0.0.1", port, None)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with folder:
        server = subprocess.Popen(arguments, env=environment)
        try:
            while server.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.3)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                page = browser.new_page(viewport={"width": 1400, "height": 1440})
                page.goto(f"http://127.0.0.1:{port}/", wait_until="domcontentloaded", timeout=120_000)
                page.wait_for_selector(".hsd-panel .hsd-linked", timeout=120_000)
                page.get_by_role("button", name="Longest accepted draft").click()
                page.mouse.move(2, 2)
                page.wait_for_timeout(1500)
                page.evaluate("document.activeElement.blur()")
                page.screenshot(path=PICTURE)
                browser.close()
        finally:
            server.terminate()
            server.wait()
    print(PICTURE)


if __name__ == "__main__":
    main()
