"""Run the lessons of the course in this process."""

from __future__ import annotations

from functools import cache
from typing import Any

from hsd_viz.exercises import CheckResult, editions
from tests.rows import column, keyed

PATHS = keyed(editions.notebooks(), "stem")
ALL = {name: path.read_text(encoding="utf-8") for name, path in PATHS.items()}
MASTERS = {path.stem: ALL[path.stem] for path in editions.masters()}


def code_cells(name: str, edition: str) -> list[str]:
    cells = editions.notebook(PATHS[name], edition)["cells"]
    sources = []
    for cell in cells:
        if cell["cell_type"] == "code":
            sources.append("".join(cell["source"]))
    return sources


@cache
def run(name: str, edition: str) -> tuple[list[editions.CellOutput], dict[str, Any]]:
    """Return all cells with what they printed and their values, and the names they defined."""
    names: dict[str, Any] = {}
    return list(editions.run(PATHS[name], edition, names)), names


def results(name: str, edition: str) -> dict[str, CheckResult]:
    """Return the results of a lesson's checks by exercise."""
    values = column(run(name, edition)[0], "value")
    by_exercise = {}
    for value in values:
        if isinstance(value, CheckResult):
            by_exercise[value.exercise.number] = value
    return by_exercise
