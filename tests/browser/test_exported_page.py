"""A run's exported page, opened from the disk."""

from __future__ import annotations

import pytest

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.views.standalone import page as standalone
from hsd_viz.views.standalone_versus import page as standalone_versus

from .conftest import PATIENCE, quiet
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
        page.wait_for_selector(".hsd-sc-chip[data-key]")
        page.wait_for_selector(".hsd-tl-call")
        assert page.locator("#start").count() == 0
        assert page.locator(".hsd-out .hsd-tok").count() == len(trace)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".hsd-out .hsd-tok").last.click()
        last = f"Round {len([r for r in trace.round_rows if r.parent is None])} of"
        assert title(page).startswith(last)
        page.wait_for_selector(".hsd-tl-here.hsd-pinned")
        page.locator(".hsd-out").focus()
        page.keyboard.press("Home")
        assert title(page).startswith("Round 1 of")
        page.keyboard.press("Escape")
        page.wait_for_selector(".hsd-pinned", state="detached")
        assert page.evaluate("window.pwned") is None
        assert errors == []
        # The policy holds: what a script would send is stopped before it leaves.
        refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
        assert refused == "refused"
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    finally:
        page.close()


@pytest.mark.parametrize("width", [1400, 420])
def test_runs_side_by_side_race_from_the_disk_and_can_reach_nobody(chromium, tmp_path, width):
    traces = [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases", "both")]
    path = tmp_path / "race.html"
    path.write_text(standalone_versus(traces), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 1000})
    page.set_default_timeout(PATIENCE)
    try:
        errors, asked = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".hsd-vs-col")
        assert page.locator("#start").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".hsd-vs-col").count() == max(len(t) for t in traces)
        counts = "all => all.map(n => n.textContent)"
        over = page.eval_on_selector_all(".hsd-vs-count", counts)
        # The race starts over, runs, and comes to the same end.
        page.get_by_role("button", name="Start the race").click()
        page.wait_for_function(
            "over => [...document.querySelectorAll('.hsd-vs-count')].some((n, k) => n.textContent !== over[k])",
            arg=over,
        )
        page.eval_on_selector(".hsd-vs-slider", "s => { s.value = 1000; s.dispatchEvent(new Event('input')); }")
        quiet(page)
        assert page.eval_on_selector_all(".hsd-vs-count", counts) == over
        # The texts are aligned and the figures compared, each run with its own.
        page.locator(".hsd-vs-col").nth(5).click()
        assert "Output position 6" in page.text_content(".hsd-vs-readout-head")
        row = page.locator(".hsd-vs-figures tr", has_text="Target forward passes").first
        forwards = [t.metrics()["target_forwards"] for t in traces]
        assert row.locator(".hsd-vs-value").all_text_contents() == [str(n) for n in forwards]
        assert errors == []
        assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    finally:
        page.close()
