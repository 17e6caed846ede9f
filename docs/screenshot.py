"""Take docs/dashboard.png anew: serve the dashboard, open it in Chromium, pin a token. Run it after recording the traces anew."""

from __future__ import annotations

from pathlib import Path

from pages import chromium, served

PICTURE = Path(__file__).parent / "dashboard.png"


def main() -> None:
    with served() as url, chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1440})
        page.goto(url, wait_until="domcontentloaded", timeout=120_000)
        page.wait_for_selector(".hsd-panel .hsd-linked", timeout=120_000)
        page.get_by_role("button", name="Longest accepted draft").click()
        page.mouse.move(2, 2)
        page.wait_for_timeout(1500)
        page.evaluate("document.activeElement.blur()")
        page.screenshot(path=PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
