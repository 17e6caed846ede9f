"""Visits of a page in a browser of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
#: Milliseconds that anything may take before the measurement is given up.
PATIENCE = 120_000


def medians_of(rows: Sequence[dict], names: Iterable[str] | None = None) -> dict[str, float]:
    """Return the median of each value of rows; by default of all that the first row has."""
    medians = {}
    for name in names or rows[0]:
        medians[name] = median(row[name] for row in rows)
    return medians


@contextmanager
def opened(browser: Browser, url: str, *, newcomer: bool = True) -> Iterator[Page]:
    """A page in a browser of its own: nothing is in its cache. A newcomer sees the introduction."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    context.add_init_script(
        SCRIPT if newcomer else f"localStorage.setItem('hsd_viz.game', 'yes');\n{SCRIPT}"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto(url, wait_until="commit")
        yield page
    finally:
        context.close()
