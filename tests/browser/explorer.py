"""The explorer in a browser: how tests open it, find its parts and measure it."""

from __future__ import annotations

import re

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, expect

from .conftest import PATIENCE, Page, quiet

TOKENS = ".hsd-out .hsd-tok"
TABS = ("Watch", "Why", "Databases", "Time", "Compare", "Your traffic")
#: The page cancels by itself, as soon as a live run shows text: on a busy machine a run would end
#: before a test could.
CANCEL = """(tokens) => {
  const watch = new MutationObserver(() => {
    if (document.querySelector(".hsd-badge").textContent.trim() !== "Live run") return;
    if (document.querySelectorAll(tokens).length <= 5) return;
    watch.disconnect();
    document.querySelector(".hsd-form-switch").click();
  });
  watch.observe(document, { subtree: true, childList: true, characterData: true });
}"""


def opened(open_page, url: str, width: int = 1440, height: int = 900) -> Page:
    """Open an address in a window of this size, up to the text of its run."""
    shown = open_page(width)
    shown.page.set_viewport_size({"width": width, "height": height})
    shown.page.goto(url, wait_until="domcontentloaded")
    # A comparison hides the text of the run.
    shown.page.wait_for_selector(TOKENS, state="attached")
    return shown


def field(page, label: str) -> Locator:
    """Return the field with this label."""
    return page.get_by_label(label, exact=True)


def tab(page, name: str) -> None:
    """Open a tab and wait until it is drawn."""
    page.get_by_role("tab", name=name, exact=True).click()
    expect(page.locator(".hsd-panel [aria-busy]")).to_have_count(0, timeout=PATIENCE)
    quiet(page)


def choose_of_run(page, name: str | re.Pattern[str]) -> None:
    """Choose an item of the menu of the run."""
    page.get_by_role("button", name=re.compile("^Run: files")).click()
    page.get_by_role("menuitem", name=name).click()


def violations(page) -> list[str]:
    """Return what axe-core reports of the page as it is; nothing is excepted."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    report = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    listed = []
    for violation in report["violations"]:
        for node in violation["nodes"]:
            listed.append(f"{violation['id']}: {node['html'][:160]}")
    return listed
