"""From a key to the painted frame that shows it, on a long trace."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hsd_viz.views.run_data import MAX_TOKENS
from tools.browser import serving
from tools.measure_page.live_kernel import long_trace
from tools.measure_page.opening import arrival
from tools.measure_page.visits import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: The trace that is opened and that keys step through: the longest that the page shows; sampled, so
#: that drafts are often rejected.
TOKENS = MAX_TOKENS
STACK = "db > nano:4 > target"
#: Keys as people press them: events, tokens, rounds, there and back.
KEYS = (
    "ArrowRight",
    "ArrowRight",
    ".",
    "ArrowRight",
    "Shift+ArrowRight",
    "ArrowLeft",
    ".",
    "Shift+ArrowRight",
)
#: Tabs that keys are pressed on, and what then is to follow.
OWN = ("token stream", "staircase")
TABS = {"Watch": OWN, "Why": (*OWN, "scene"), "Databases": OWN, "Time": (*OWN, "timeline")}


def keys(browser: Browser, repeats: int) -> dict[str, Any]:
    """Open a trace of ``TOKENS`` tokens from a file; then from a key to the painted frame that
    shows it.
    """
    with tempfile.TemporaryDirectory() as folder, serving() as server:
        trace = long_trace(STACK, TOKENS)
        file = Path(folder) / "long.json.gz"
        trace.save(file)
        with opened(browser, server.url, newcomer=False) as page:
            arrival(page)
            opening = [taken(page, file, len(trace)) for _ in range(repeats + 1)][1:]
            times = walked(page, len(trace), 8 * repeats)
    print(f"{f'of {TOKENS} tokens, ms':<32}{'times':>6}{'median':>8}{'worst':>8}")
    for view, values in {"opening": opening, **times}.items():
        print(f"  {view:<30}{len(values):6d}{median(values):8.0f}{max(values):8.0f}")
    return {
        "stack": STACK,
        "tokens": TOKENS,
        "rounds": len(trace.round_rows),
        "opening": opening,
        "milliseconds": times,
        "medians": {view: median(values) for view, values in times.items()},
    }


def taken(page: Page, file: Path, tokens: int) -> float:
    """Open a trace on the page; return the ms from the choice of the file until its text is
    painted.
    """
    page.evaluate("(tokens) => hsdMeasure.open(tokens)", tokens)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Run: files, tour and text").click()
        page.get_by_role("menuitem", name="Open a trace").click()
    chooser.value.set_files(file)
    page.wait_for_function("hsdMeasure.took")
    page.wait_for_timeout(1000)
    return page.evaluate("hsdMeasure.took")


def walked(page: Page, tokens: int, presses: int) -> dict[str, list[float]]:
    """Press keys on each tab: by view, what each key took that changed it, ms."""
    times: dict[str, list[float]] = {}
    for tab, views in TABS.items():
        page.get_by_role("tab", name=tab, exact=True).click()
        page.wait_for_timeout(2000)
        page.mouse.move(2, 2)
        page.locator(".hsd-out").focus()
        page.evaluate(
            "async () => {"
            " for (const m of hsd_viz.values()) hsdMeasure.groups = (await m).groups; "
            "}"
        )
        page.evaluate("([tokens, views]) => hsdMeasure.listen(tokens, views)", [tokens, views])
        for number in range(presses):
            for view, ms in press(page, KEYS[number % len(KEYS)]).items():
                times.setdefault(f"{view} ({tab})" if view in OWN else view, []).append(ms)
        page.evaluate("hsdMeasure.deaf()")
    return times


def press(page: Page, key: str) -> dict[str, float]:
    """Press a key and wait for all views; what each took, ms. A view that had nothing to change
    is left out.
    """
    page.keyboard.press(key)
    try:
        page.wait_for_function("hsdMeasure.settled()", timeout=5000)
    except Exception as error:
        raise RuntimeError(
            f"not every view followed {key}: {page.evaluate('hsdMeasure.key()')}"
        ) from error
    page.wait_for_timeout(80)
    return page.evaluate("hsdMeasure.key().ms")
