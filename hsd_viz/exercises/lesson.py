"""Lessons as steps: their cells, run in this process, with what they printed and returned."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.exercises import editions


class Step(NamedTuple):
    """A cell: ``kind`` is ``markdown`` or ``code``; code has what it printed and the value of its last line. A figure
    shown with ``hsd.views.show(figure)`` is the value."""

    kind: str
    text: str
    printed: str = ""
    value: Any = None


def steps_of(path: Path, edition: str = "student") -> Iterator[Step]:
    """Run the student or the solution edition of a master, cell by cell."""
    cells = editions.notebook(path.read_text(encoding="utf-8"), edition, path.stem)["cells"]
    return run(((cell["cell_type"], "".join(cell["source"])) for cell in cells), {})


def run(cells: Iterable[tuple[str, str]], names: dict[str, Any]) -> Iterator[Step]:
    """Run cells in the namespace ``names``."""
    for kind, text in cells:
        if kind == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = run_cell(text, names)
            yield Step(kind, text, printed.getvalue(), value)
        else:
            yield Step(kind, text)


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    shown = isinstance(last.value, ast.Call) and ast.unparse(last.value.func) == "hsd.views.show"
    value = last.value.args[0] if shown else last.value  # type: ignore[attr-defined]
    return eval(compile(ast.Expression(value), "cell", "eval"), names)
