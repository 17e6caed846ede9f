"""Four editions of each lesson from one master: student, solution, Otter-Grader and nbgrader notebooks.

A master is Markdown as Jupytext reads it: text, and cells between ``` ```python ``` and ``` ``` ```. Lines between
``### BEGIN SOLUTION`` and ``### END SOLUTION`` are the solution. A cell that begins with ``check(`` checks the exercise
in its first argument. :func:`steps_of` runs the cells of a lesson in this process.
"""

import ast
import contextlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import write_whole
from hsd_viz.exercises.data import folder

_CELL = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n?", re.S | re.M)
_CHECK = re.compile(r'check\("([\w.]+)", (\w+)\)')
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
Cell = dict[str, Any]
#: Comments, so that the notebooks run everywhere else without a change.
COLAB = """\
# On Colab only: remove the # of both lines and run them first.
# %pip install -q "hsd-viz @ git+https://github.com/hsd-viz/hsd-viz"
# from google.colab import output; output.enable_custom_widget_manager()"""


def masters() -> list[Path]:
    """Return the masters of the lessons, in order."""
    return sorted(folder("exercises/master", "notebooks/course/master").glob("[1-9]-*.md"))


def notebooks() -> list[Path]:
    """Return the masters of all notebooks: the lessons and the puzzles."""
    return [*masters(), masters()[0].with_name("puzzles.md")]


def cells_of(master: str) -> list[tuple[str, str]]:
    """Return a master's cells as (``markdown`` or ``code``, text)."""
    parts = _CELL.split(master)
    kinds = ("markdown", "code")
    return [(kinds[n % 2], text.strip()) for n, text in enumerate(parts) if text.strip()]


def student(source: str) -> str:
    """Return a code cell without its solution."""
    return _SOLUTION.sub(lambda m: f"{m[1]}raise NotImplementedError  # replace this line\n", source).rstrip()


def solution(source: str) -> str:
    """Return a code cell with its solution, without the markers."""
    return _SOLUTION.sub(lambda m: m[2], source).rstrip()


def notebook(master: str, edition: str, name: str) -> dict[str, Any]:
    """Return one edition of a master as a notebook of format 4.5."""
    cells: list[Cell] = []
    for kind, text in cells_of(master):
        cells += [_cell(kind, text)] if kind == "markdown" else EDITIONS[edition](text)
    if edition == "student":
        cells.insert(1, _cell("code", COLAB))
    if edition == "otter":
        cells.insert(0, _cell("raw", f"# ASSIGNMENT CONFIG\nname: {name}\nsolutions_pdf: false"))
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n:02d}"
    return {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, **metadata: Any) -> Cell:
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": text.splitlines(keepends=True), **code}


def _nbgrader(text: str) -> list[Cell]:
    """Return the cell with nbgrader's metadata: solutions keep their markers, checks are graded."""
    options = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}
    if _SOLUTION.search(text):
        name = re.search(r"def (\w+)", text)
        options |= {"solution": True, "grade_id": f"solution-{name[1] if name else 'cell'}"}
        return [_cell("code", text, nbgrader=options)]
    if found := _CHECK.match(text):
        options |= {"grade": True, "locked": True, "points": 1, "grade_id": f"check-{found[1].replace('.', '-')}"}
        return [_cell("code", _asserted(found), nbgrader=options)]
    return [_cell("code", text)]


def _otter(text: str) -> list[Cell]:
    """Return the cell between the raw cells of Otter-Grader's master format. A question begins at its solution and ends
    at its check.
    """
    if _SOLUTION.search(text):
        marked = text.replace("### BEGIN SOLUTION", "# BEGIN SOLUTION").replace("### END SOLUTION", "# END SOLUTION")
        name = re.search(r"def (\w+)", text)
        question = _cell("raw", f"# BEGIN QUESTION\nname: {name[1] if name else 'question'}\npoints: 1")
        return [question, _cell("raw", "# BEGIN SOLUTION"), _cell("code", marked), _cell("raw", "# END SOLUTION")]
    if found := _CHECK.match(text):
        raws = [_cell("raw", f"# {words}") for words in ("BEGIN TESTS", "END TESTS", "END QUESTION")]
        return [raws[0], _cell("code", _asserted(found)), *raws[1:]]
    return [_cell("code", text)]


def _asserted(found: re.Match[str]) -> str:
    """Return a check that fails with its message, for graders."""
    return f"result = {found[0]}\nassert result, result"


EDITIONS: dict[str, Callable[[str], list[Cell]]] = {
    "student": lambda text: [_cell("code", student(text))],
    "solution": lambda text: [_cell("code", solution(text))],
    "otter": _otter,
    "nbgrader": _nbgrader,
}


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


def build(into: Path, editions: Sequence[str] = tuple(EDITIONS)) -> list[Path]:
    """Write editions of all lessons into folders of ``into`` named after them, and return the files."""
    return [path for edition in editions for path in write(into / edition, edition, overwrite=True)]


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
