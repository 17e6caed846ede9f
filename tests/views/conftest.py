"""A page without a browser; a lesson is run once for all pages and slides that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hsd_viz.exercises.editions import CellOutput
from hsd_viz.views import lessons
from tests.exercises.lessons import run
from tests.views.fake_page import Page


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page without a browser."""
    return Page(monkeypatch)


def outputs_of(path: Path) -> list[CellOutput]:
    return run(path.stem, "student")[0]


@pytest.fixture(scope="module")
def run_once() -> Iterator[Callable[[Path], list[CellOutput]]]:
    """Let pages and slides show the cells of one run of each lesson; return what has them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lessons, "run", outputs_of)
        yield outputs_of
