"""What a new student learns on the page, and with how many clicks: each insight begins on the first
screen. The recorded runs are enough for it, so that the page of the site has all of it.

``pytest -s`` prints the clicks, the seconds of the page and the words to read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from .conftest import PATIENCE

pytestmark = pytest.mark.browser
#: Words that a student reads in a minute.
PACE = 200


class Student:
    """Clicks on the page, and counts."""

    def __init__(self, chromium, url: str) -> None:
        self.page = chromium.new_page(viewport={"width": 1440, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(url, wait_until="domcontentloaded")
        self.page.get_by_role("button", name="Skip to the explorer").wait_for()
        self.began = time.monotonic()
        self.clicks = 0
        self.click(self.page.get_by_role("button", name="Skip to the explorer"))
        self.page.locator(".hsd-out .hsd-tok").first.wait_for()

    def click(self, thing: Locator) -> None:
        thing.click()
        self.clicks += 1

    def open_run(self, title: str) -> None:
        """Open a recorded run: a click on the list and one on the run."""
        runs = self.page.get_by_role("combobox", name="Run")
        option = runs.locator("option").filter(has_text=title).first
        runs.select_option(option.get_attribute("value") or "")
        self.clicks += 2

    def tab(self, name: str) -> None:
        self.click(self.page.get_by_role("tab", name=name, exact=True))

    def report(self, insight: str, text: str) -> None:
        seconds = time.monotonic() - self.began
        words = len(text.split())
        reading = 60 * words / PACE
        print(
            f"\n{insight}: {self.clicks} clicks, {seconds:.1f} s of the page, "
            f"{words} words to read ({reading:.0f} s)"
        )


@pytest.fixture
def student(chromium, built_site) -> Iterator[Student]:
    student = Student(chromium, f"{(built_site / 'recordings.html').as_uri()}?game=0")
    yield student
    student.page.close()


def test_why_a_token_was_rejected(student):
    student.click(student.page.locator(".hsd-out .hsd-tok[data-kind=correction]").first)

    card = student.page.locator(".hsd-card").first
    expect(card).to_contain_text("The target rejected “")
    assert student.clicks <= 2
    student.report("Why a token was rejected", card.inner_text())


def test_who_supplied_a_token(student):
    student.click(student.page.locator(".hsd-out .hsd-tok[data-kind=accepted]").first)

    card = student.page.locator(".hsd-card").first
    expect(card).to_contain_text(re.compile("copying|database"))
    assert student.clicks <= 2
    student.report("Who supplied a token", card.inner_text())


def test_which_of_two_stacks_is_faster(student):
    student.tab("Compare")

    view = student.page.locator(".hsd-versus").first
    expect(view).to_contain_text(re.compile(r"[ABC] finished first"))
    assert student.clicks <= 2
    finished = view.get_by_text(re.compile("finished first")).first.inner_text()
    table = view.inner_text().partition("tokens\n")[0]
    student.report("Which of two stacks is faster", f"{table} {finished}")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        ("Databases, then nano, then small", r"0\.\d+ ×"),
        ("nano, then small, below a target of four times the size", r"1\.\d+ ×"),
    ],
    ids=["it loses", "it wins"],
)
def test_why_a_hierarchy_loses_or_pays(student, run, verdict):
    student.open_run(run)

    line = student.page.locator(".hsd-headline").first
    expect(line).to_contain_text(re.compile(rf"{verdict} the speed of plain decoding: a pass"))
    words = line.inner_text()
    student.tab("Time")
    ribbons = student.page.locator(".hsd-panel-body").first
    expect(ribbons).to_contain_text("What survives each level")
    expect(ribbons).to_contain_text(re.compile("accepts [0-9]+ of [0-9]+"))
    assert student.clicks <= 4
    student.report(f"Why a hierarchy is as fast as it is ({run})", words)
