"""Run the lessons of the course in this process."""

from __future__ import annotations

from functools import cache
from typing import Any

from hsd_viz.exercises import Result, editions

ALL = {path.stem: path.read_text(encoding="utf-8") for path in editions.notebooks()}
MASTERS = {path.stem: ALL[path.stem] for path in editions.masters()}


def code_cells(name: str, edition: str) -> list[str]:
    cells = editions.notebook(ALL[name], edition, name)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@cache
def run(name: str, edition: str) -> tuple[list[Any], str, dict[str, Any]]:
    """Return the values of all cells, what they printed, and the names they defined."""
    names: dict[str, Any] = {}
    steps = list(editions.run((("code", source) for source in code_cells(name, edition)), names))
    return [step.value for step in steps], "".join(step.printed for step in steps), names


def results(name: str, edition: str) -> dict[str, Result]:
    """Return the results of a lesson's checks by exercise."""
    return {value.exercise.number: value for value in run(name, edition)[0] if isinstance(value, Result)}
