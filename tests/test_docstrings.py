"""Errors in docstrings have one form: a section, with UserError or its child for a user's input."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hsd_viz"
FILES = sorted(PACKAGE.rglob("*.py"))
#: The parts beside the package, whose errors may be of any type.
BESIDE = ("benchmarks", "tools", "training")
#: Functions whose callers turn the ValueError of a library into an error of their file.
OF_LIBRARIES = {"trace/file.py": "read_tables", "trace/tables.py": "checked"}
#: The line of a section, and an error in it.
SECTION = re.compile(r"^Raises:$", re.M)
ERROR = re.compile(r"^    (\w+): \S", re.M)


def docstrings(path: Path):
    """Yield the name and the docstring of each class and function of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.name, text


def wrong_forms(path: Path, place: str):
    """Yield what is wrong with the errors that docstrings of a file name.

    Args:
        path: the file.
        place: its name in the package; "" outside of it, where errors may be of any type.
    """
    for name, text in docstrings(path):
        if "Raises:" not in text:
            continue
        _, heading, after = text.partition("Raises:\n")
        section = re.split(r"\n\n|\n(?=\S)", after)[0]
        errors = ERROR.findall(section)
        if not heading or not SECTION.search(text) or not errors:
            yield f"{name}: 'Raises:' is not a section"
        elif place and "ValueError" in errors and OF_LIBRARIES.get(place) != name:
            yield f"{name}: ValueError, where users see a UserError or its child"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_errors_are_a_section_and_those_of_users_are_user_errors(path):
    assert not [*wrong_forms(path, path.relative_to(PACKAGE).as_posix())]


@pytest.mark.parametrize("part", BESIDE)
def test_errors_beside_the_package_are_a_section(part):
    problems = []
    for path in sorted((ROOT / part).rglob("*.py")):
        problems += [f"{path.relative_to(ROOT)}: {form}" for form in wrong_forms(path, "")]
    assert problems == []


@pytest.mark.parametrize(
    ("docstring", "what"),
    [
        ("Return it. Raises: UserError: if it is not.", "not a section"),
        ("Return it.\n\n    Raises: UserError.", "not a section"),
        ("Return it.\n\n    Raises:\n        ValueError: if it is not.\n    ", "ValueError"),
    ],
    ids=["inside a sentence", "in one line", "of a child"],
)
def test_another_form_is_noticed(docstring, what, tmp_path):
    file = tmp_path / "module.py"
    file.write_text(f'def read():\n    """{docstring}"""\n')

    (wrong,) = wrong_forms(file, "module.py")

    assert what in wrong
