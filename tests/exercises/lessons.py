"""Run the lessons of the course in this process."""

from __future__ import annotations

import ast
import contextlib
import io
from functools import cache
from typing import Any

from hsd_viz.exercises import Result, editions

MASTERS = {path.stem: path.read_text(encoding="utf-8") for path in editions.masters()}


def code_cells(lesson: str, edition: str) -> list[str]:
    cells = editions.notebook(MASTERS[lesson], edition, lesson)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@cache
def run(lesson: str, edition: str) -> tuple[list[Any], str, dict[str, Any]]:
    """Return the values of all cells, what they printed, and the names they defined."""
    names: dict[str, Any] = {}
    values, printed = [], io.StringIO()
    with contextlib.redirect_stdout(printed):
        for source in code_cells(lesson, edition):
            values.append(run_cell(source, names))
    return values, printed.getvalue(), names


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def results(lesson: str, edition: str) -> dict[str, Result]:
    """Return the results of a lesson's checks by exercise."""
    return {value.exercise.number: value for value in run(lesson, edition)[0] if isinstance(value, Result)}
