"""Run the lessons of the course in this process: each edition once, and a decode, which is the same
in every edition, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from hsd_viz.exercises import CheckResult, editions, lesson_model
from hsd_viz.exercises.lesson_model import LiveModel
from tests.rows import column, keyed

PATHS = keyed(editions.notebooks(), "stem")
ALL = {name: path.read_text(encoding="utf-8") for name, path in PATHS.items()}
MASTERS = {path.stem: ALL[path.stem] for path in editions.masters()}
decode = LiveModel.run


def code_cells(name: str, edition: str) -> list[str]:
    cells = editions.notebook(PATHS[name], edition)["cells"]
    sources = []
    for cell in cells:
        if cell["cell_type"] == "code":
            sources.append("".join(cell["source"]))
    return sources


@cache
def decode_once(family, kind, stack, n, options):
    """Return the run of a prompt. Engines are cached by family, too."""
    return decode(lesson_model._load(family), kind, stack, n, **dict(options))


@contextmanager
def each_decode_run_once() -> Iterator[None]:
    """Let all that lessons, and tests of their figures, decode share its runs."""

    def run(self, kind, stack="target", n=0, **options):
        return decode_once(self.family.name, kind, stack, n, tuple(sorted(options.items())))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveModel, "run", run)
        yield


@cache
def run(name: str, edition: str) -> tuple[list[editions.CellOutput], dict[str, Any]]:
    """Return all cells with what they printed and their values, and the names they defined."""
    names: dict[str, Any] = {}
    with each_decode_run_once():
        return list(editions.run(PATHS[name], edition, names)), names


def results(name: str, edition: str) -> dict[str, CheckResult]:
    """Return the results of a lesson's checks by exercise."""
    values = column(run(name, edition)[0], "value")
    by_exercise = {}
    for value in values:
        if isinstance(value, CheckResult):
            by_exercise[value.exercise.number] = value
    return by_exercise
