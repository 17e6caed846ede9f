"""The editions of each lesson, from one master: the student's and the solved notebook, and the
sources of Otter-Grader (``otter assign``) and nbgrader (``nbgrader generate_assignment``), which
build their own editions from them.

A master is Markdown as Jupytext reads it: text, and cells between ``` ```python ``` and ``` ```
```. Lines between ``# BEGIN SOLUTION`` and ``# END SOLUTION`` are the solution. A cell that begins
with ``check(`` checks the exercise in its first argument, one that begins with ``# Guess first``
ends with a prediction (:mod:`hsd_viz.exercises.prediction`).
"""

import ast
import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import data_folder, write_inside
from hsd_viz.errors import UserError

EDITIONS = ("student", "solution", "otter", "nbgrader")
_CELL = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)
_SOLUTION = re.compile(r"^([ \t]*)# BEGIN SOLUTION\n(.*?)^[ \t]*# END SOLUTION\n?", re.S | re.M)
_CHECK = re.compile(r'check\("([\w.]+)", (\w+)\)')
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_NBGRADER = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}
Cell = dict[str, Any]
#: How a cell begins that asks for a prediction.
GUESS = "# Guess first"
#: The line that a student replaces with a solution.
UNSOLVED = "raise NotImplementedError  # replace this line"
#: Comments, so that the notebooks run everywhere else without a change.
COLAB = """\
# On Colab only: remove the # of both lines and run them first.
# %pip install -q "hsd-viz @ git+https://github.com/hsd-viz/hsd-viz"
# from google.colab import output; output.enable_custom_widget_manager()"""


def masters() -> list[Path]:
    """Return the masters of the lessons, in order."""
    return sorted(data_folder("exercises/master", "notebooks/course/master").glob("[1-9]-*.md"))


def notebooks() -> list[Path]:
    """Return the masters of all notebooks: the lessons, the lab sheet and the puzzles."""
    first = masters()[0]
    return [*masters(), first.with_name("lab.md"), first.with_name("puzzles.md")]


def cells_of(master: str) -> list[tuple[str, str]]:
    """Return a master's cells as (``markdown`` or ``code``, text)."""
    cells = []
    for n, part in enumerate(_CELL.split(master)):
        text = part.strip()
        if text:
            cells.append(("code" if n % 2 else "markdown", text))
    return cells


def solved(source: str) -> str:
    """Return a code cell with its solution, without the markers."""
    return _SOLUTION.sub(r"\2", source).rstrip()


class Program(NamedTuple):
    """A function as source text.

    Attributes:
        name: of the function.
        source: its definition.
        before: code that defines what it uses.
        names: other names that it uses.
    """

    name: str
    source: str
    before: str = ""
    names: dict[str, Any] = {}  # noqa: RUF012


@cache
def solutions() -> dict[str, Program]:
    """Return the solution of each exercise, after the imports that it uses and the solutions before
    it.
    """
    programs = {}
    for path in notebooks():
        code: list[str] = [
            text for kind, text in cells_of(path.read_text(encoding="utf-8")) if kind == "code"
        ]
        imports = re.findall(r"^(?:import|from) .*", code[0], re.M)
        definitions: list[str] = []
        for text in code:
            if checked := _CHECK.match(text):
                # What only tables and figures need is not imported to check an answer.
                used = [line for line in imports if _is_used(line, "\n".join(definitions))]
                before = "\n".join([*used, *definitions[:-1]])
                programs[checked[1]] = Program(checked[2], definitions[-1], before)
            elif _SOLUTION.search(text):
                definitions.append(solved(text))
    return programs


def _is_used(statement: str, code: str) -> bool:
    """Return whether ``code`` has a name that an import statement binds."""
    [imported] = ast.parse(statement).body
    assert isinstance(imported, ast.Import | ast.ImportFrom)
    names = [alias.asname or alias.name.partition(".")[0] for alias in imported.names]
    return any(re.search(rf"\b{name}\b", code) for name in names)


def notebook(master: Path, edition: str) -> dict[str, Any]:
    """Return one edition of a master as a notebook of format 4.5."""
    cells: list[Cell] = []
    for kind, text in cells_of(master.read_text(encoding="utf-8")):
        cells += [_cell(kind, text)] if kind == "markdown" else _code(text, edition)
    if edition == "student":
        cells.insert(1, _cell("code", COLAB))
    if edition == "otter":
        cells.insert(
            0, _cell("raw", f"# ASSIGNMENT CONFIG\nname: {master.stem}\nsolutions_pdf: false")
        )
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n:02d}"
    return {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, **metadata: Any) -> Cell:
    code: Cell = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "metadata": metadata,
        "source": text.splitlines(keepends=True),
        **code,
    }


def _code(text: str, edition: str) -> list[Cell]:
    """Return a code cell of one edition. For the graders, solutions keep their markers and checks
    fail with their message.
    """
    if edition == "solution":
        return [_cell("code", solved(text))]
    if edition == "student":
        return [
            _cell(
                "code",
                _SOLUTION.sub(rf"\1{UNSOLVED}\n", text).rstrip(),
            )
        ]
    checked = _CHECK.match(text)
    if not (checked or _SOLUTION.search(text)):
        return [_cell("code", text)]
    text = f"result = {checked[0]}\nassert result, result" if checked else text
    name = checked[1].replace(".", "-") if checked else re.findall(r"^def (\w+)", text, re.M)[-1]
    if edition == "nbgrader":
        graded = {"grade": True, "locked": True, "points": 1} if checked else {"solution": True}
        return [_cell("code", text, nbgrader=_NBGRADER | graded | {"grade_id": f"cell-{name}"})]
    # A question of Otter-Grader begins at its solution and ends at its check.
    before = (
        ["# BEGIN TESTS"]
        if checked
        else [f"# BEGIN QUESTION\nname: {name}\npoints: 1", "# BEGIN SOLUTION"]
    )
    after = ["# END TESTS", "# END QUESTION"] if checked else ["# END SOLUTION"]
    return [
        *(_cell("raw", raw) for raw in before),
        _cell("code", text),
        *(_cell("raw", raw) for raw in after),
    ]


def write(into: Path, edition: str, *, below: str = "", overwrite: bool = False) -> list[Path]:
    """Write one edition of all lessons into a folder, or into one ``below`` it; return the files.

    That of nbgrader is a course folder: ``source/ASSIGNMENT/ASSIGNMENT.ipynb``.

    Raises:
        UserError: if a file exists and ``overwrite`` is not set: it may contain answers.
    """
    files: dict[str, Path] = {}
    for master in notebooks():
        name = f"{master.stem}.ipynb"
        if edition == "nbgrader":
            name = f"source/{master.stem}/{name}"
        files[f"{below}/{name}" if below else name] = master
    existing = [into / name for name in files if os.path.lexists(into / name)]
    if existing and not overwrite:
        raise UserError(f"{existing[0]} exists and may contain answers: name another folder")
    for name, master in files.items():
        content = json.dumps(notebook(master, edition), indent=1, ensure_ascii=False) + "\n"
        write_inside(into, name, content)
    return [into / name for name in files]


def contents() -> str:
    """Return the table of contents of the course as a MyST book: the text of its ``myst.yml``."""
    files = "".join(f"    - file: {master.stem}.ipynb\n" for master in notebooks())
    return f"""\
# The course as a MyST book: jupyter book build --html
version: 1
project:
  title: Speculative decoding, seen and measured
  toc:
{files}site:
  template: book-theme
"""


class CellOutput(NamedTuple):
    """A cell of a notebook that was run.

    Attributes:
        kind: ``markdown`` or ``code``.
        text: the cell.
        printed: what code printed.
        value: of the last line of code.
    """

    kind: str
    text: str
    printed: str = ""
    value: Any = None


def run(
    path: Path, edition: str = "student", names: dict[str, Any] | None = None
) -> Iterator[CellOutput]:
    """Run an edition of a master in this process, cell by cell, in the namespace ``names``.
    Figures are values.
    """
    names = {} if names is None else names
    for cell in notebook(path, edition)["cells"]:
        text = "".join(cell["source"])
        printed = io.StringIO()
        value = None
        if cell["cell_type"] == "code":
            tree = ast.parse(text.replace("hsd.views.show_figure(figure)", "figure"))
            expression = None
            if tree.body and isinstance(tree.body[-1], ast.Expr):
                expression = ast.Expression(tree.body[-1].value)
                del tree.body[-1]
            with contextlib.redirect_stdout(printed):
                exec(compile(tree, "cell", "exec"), names)
                if expression is not None:
                    value = eval(compile(expression, "cell", "eval"), names)
        yield CellOutput(cell["cell_type"], text, printed.getvalue(), value)
