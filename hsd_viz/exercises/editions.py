"""The editions of each lesson, from one master: the student's and the solved notebook, and the sources of Otter-Grader
(``otter assign``) and nbgrader (``nbgrader generate_assignment``), which build their own editions from them.

A master is Markdown as Jupytext reads it: text, and cells between ``` ```python ``` and ``` ``` ```. Lines between
``### BEGIN SOLUTION`` and ``### END SOLUTION`` are the solution. A cell that begins with ``check(`` checks the exercise
in its first argument. :func:`steps_of` runs the cells of a lesson in this process.
"""

import ast
import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import data_folder, write_whole

EDITIONS = ("student", "solution", "otter", "nbgrader")
_CELL = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n?", re.S | re.M)
_CHECK = re.compile(r'check\("([\w.]+)", (\w+)\)')
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_NBGRADER = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}
Cell = dict[str, Any]
#: Comments, so that the notebooks run everywhere else without a change.
COLAB = """\
# On Colab only: remove the # of both lines and run them first.
# %pip install -q "hsd-viz @ git+https://github.com/hsd-viz/hsd-viz"
# from google.colab import output; output.enable_custom_widget_manager()"""


def masters() -> list[Path]:
    """Return the masters of the lessons, in order."""
    return sorted(data_folder("exercises/master", "notebooks/course/master").glob("[1-9]-*.md"))


def notebooks() -> list[Path]:
    """Return the masters of all notebooks: the lessons and the puzzles."""
    return [*masters(), masters()[0].with_name("puzzles.md")]


def cells_of(master: str) -> list[tuple[str, str]]:
    """Return a master's cells as (``markdown`` or ``code``, text)."""
    parts = _CELL.split(master)
    return [(("markdown", "code")[n % 2], text.strip()) for n, text in enumerate(parts) if text.strip()]


def student(source: str) -> str:
    """Return a code cell without its solution."""
    return _SOLUTION.sub(lambda m: f"{m[1]}raise NotImplementedError  # replace this line\n", source).rstrip()


def solved(source: str) -> str:
    """Return a code cell with its solution, without the markers."""
    return _SOLUTION.sub(lambda m: m[2], source).rstrip()


class Program(NamedTuple):
    """The function ``name`` in ``source``, which uses ``names`` and what the code ``before`` defines."""

    name: str
    source: str
    before: str = ""
    names: dict[str, Any] = {}  # noqa: RUF012


@cache
def solutions() -> dict[str, Program]:
    """Return the solution of each exercise, after the imports of its notebook and the solutions before it."""
    found = {}
    for path in notebooks():
        code: list[str] = [text for kind, text in cells_of(path.read_text(encoding="utf-8")) if kind == "code"]
        cells = ["\n".join(re.findall(r"^(?:import|from) .*", code[0], re.M))]
        for text in code:
            if checked := _CHECK.match(text):
                found[checked[1]] = Program(checked[2], cells[-1], "\n".join(cells[:-1]))
            elif _SOLUTION.search(text):
                cells.append(solved(text))
    return found


def notebook(master: str, edition: str, name: str) -> dict[str, Any]:
    """Return one edition of a master as a notebook of format 4.5."""
    cells: list[Cell] = []
    for kind, text in cells_of(master):
        cells += [_cell(kind, text)] if kind == "markdown" else _code(text, edition)
    if edition == "student":
        cells.insert(1, _cell("code", COLAB))
    if edition == "otter":
        cells.insert(0, _cell("raw", f"# ASSIGNMENT CONFIG\nname: {name}\nsolutions_pdf: false"))
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n:02d}"
    return {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, **metadata: Any) -> Cell:
    code: Cell = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": text.splitlines(keepends=True), **code}


def _code(text: str, edition: str) -> list[Cell]:
    """Return a code cell of one edition. For the graders, solutions keep their markers and checks fail with their
    message.
    """
    if edition in ("student", "solution"):
        return [_cell("code", student(text) if edition == "student" else solved(text))]
    solution, checked = _SOLUTION.search(text), _CHECK.match(text)
    name = re.findall(r"^def (\w+)", text, re.M)[-1:] or ["cell"]
    if checked:
        text = f"result = {checked[0]}\nassert result, result"
    if edition == "nbgrader":
        graded: dict[str, Any] = {}
        if solution:
            graded = {"solution": True, "grade_id": f"solution-{name[0]}"}
        elif checked:
            graded = {"grade": True, "locked": True, "points": 1, "grade_id": f"check-{checked[1].replace('.', '-')}"}
        return [_cell("code", text, **({"nbgrader": _NBGRADER | graded} if graded else {}))]
    # A question of Otter-Grader begins at its solution and ends at its check.
    before, after = [], []
    if solution:
        text = text.replace("### BEGIN", "# BEGIN").replace("### END", "# END")
        before = [f"# BEGIN QUESTION\nname: {name[0]}\npoints: 1", "# BEGIN SOLUTION"]
        after = ["# END SOLUTION"]
    elif checked:
        before, after = ["# BEGIN TESTS"], ["# END TESTS", "# END QUESTION"]
    return [*(_cell("raw", raw) for raw in before), _cell("code", text), *(_cell("raw", raw) for raw in after)]


def write(into: Path, edition: str, *, overwrite: bool = False) -> list[Path]:
    """Write one edition of all lessons into a folder and return the files. Raises: ValueError: if a file exists and
    ``overwrite`` is not set: it may contain answers.
    """
    files = {into / f"{path.stem}.ipynb": path for path in notebooks()}
    existing = [path for path in files if path.exists()]
    if existing and not overwrite:
        raise ValueError(f"{existing[0]} exists and may contain answers: name another folder")
    for path, master in files.items():
        text = master.read_text(encoding="utf-8")
        write_whole(path, json.dumps(notebook(text, edition, path.stem), indent=1, ensure_ascii=False) + "\n")
    return list(files)


class Step(NamedTuple):
    """A cell: ``kind`` is ``markdown`` or ``code``; code has what it printed and the value of its last line. A figure
    shown with ``hsd.views.show(figure)`` is the value.
    """

    kind: str
    text: str
    printed: str = ""
    value: Any = None


def steps_of(path: Path, edition: str = "student") -> Iterator[Step]:
    """Run the student or the solution edition of a master, cell by cell."""
    cells = notebook(path.read_text(encoding="utf-8"), edition, path.stem)["cells"]
    return run(((cell["cell_type"], "".join(cell["source"])) for cell in cells), {})


def run(cells: Iterable[tuple[str, str]], names: dict[str, Any]) -> Iterator[Step]:
    """Run cells in the namespace ``names``."""
    for kind, text in cells:
        printed, value = io.StringIO(), None
        if kind == "code":
            with contextlib.redirect_stdout(printed):
                value = run_cell(text, names)
        yield Step(kind, text, printed.getvalue(), value)


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
