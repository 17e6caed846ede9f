"""A run's exported page, opened from the disk."""

from __future__ import annotations

import pytest

from hsd_viz.engine.replay import load_bundled
from hsd_viz.views.standalone import page as standalone

from .conftest import PATIENCE
from .round_page import title, tree_trace

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "strange"), [(1400, False), (420, True)])
def test_an_exported_page_works_from_the_disk_and_can_reach_nobody(chromium, tmp_path, width, strange):
    trace = tree_trace(28) if strange else load_bundled("both")
    path = tmp_path / "run.html"
    path.write_text(standalone(trace), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 1000})
    page.set_default_timeout(PATIENCE)
    try:
        errors, asked = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".hsd-ins-node")
        page.wait_for_selector(".hsd-tl-call")
        assert page.locator("#start").count() == 0
        assert page.locator(".hsd-out .hsd-tok").count() == len(trace.token_rows)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".hsd-out .hsd-tok").last.click()
        last = f"Round {len([r for r in trace.round_rows if r.parent is None])} of"
        assert title(page).startswith(last)
        page.wait_for_selector(".hsd-tl-here.hsd-pinned")
        page.locator(".hsd-out").focus()
        page.keyboard.press("Home")
        assert title(page).startswith("Round 1 of")
        page.keyboard.press("Escape")
        page.wait_for_timeout(150)
        assert page.locator(".hsd-pinned").count() == 0
        assert page.evaluate("window.pwned") is None
        assert errors == []
        # The policy holds: what a script would send is stopped before it leaves.
        refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
        assert refused == "refused"
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    finally:
        page.close()
