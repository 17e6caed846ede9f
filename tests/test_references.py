"""References of docstrings and comments, such as a class in backquotes, name what exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "hsd_viz").rglob("*.py"))
REFERENCE = re.compile(r":(?:class|func|meth|data|mod|attr|exc):`([!~]?)([\w.]+)`")


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@cache
def names_of(module: str) -> set[str]:
    """Return the names that a module defines or imports; of a package, those loaded on use too."""
    path = MODULES[module]
    names = set()
    stub = path.with_suffix(".pyi")
    text = path.read_text(encoding="utf-8")
    if stub.exists():
        text += stub.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add((other or name).partition(".")[0])
            case ast.Constant(value=str(name)) if path.name == "__init__.py":
                names.add(name)
    return names


def exists(name: str, module: str) -> bool:
    """Return whether a reference in a module is to something of this project that exists."""
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    if name.startswith("."):
        name = package + name
    first = name.partition(".")[0]
    if first != "hsd_viz":
        here = first in names_of(module) | names_of(package)
        return here or f"{package}.{first}" in MODULES
    if name in MODULES:
        return True
    parent, _, last = name.rpartition(".")
    while parent not in MODULES:
        parent, _, last = parent.rpartition(".")
    return last in names_of(parent)


def dead_references(module: str):
    """Yield the references in a module that name nothing."""
    text = MODULES[module].read_text(encoding="utf-8")
    for mark, name in REFERENCE.findall(text):
        elsewhere = name.startswith(("tools.", "benchmarks.", "ctypes"))
        if mark != "!" and not elsewhere and not exists(name, module):
            yield name


@pytest.mark.parametrize("module", MODULES)
def test_references_name_what_exists(module):
    assert not [*dead_references(module)]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Setting", True),
        ("Settings", False),
        ("hsd_viz.stack.Stack", True),
        ("hsd_viz.stack.Stacks", False),
        ("hsd_viz.removed.Stack", False),
        (".ranges", True),
        (".removed", False),
    ],
)
def test_a_dead_reference_is_noticed(name, found):
    assert exists(name, "hsd_viz.settings.declare") is found


def rows_of_references() -> list[list[str]]:
    """Return the rows of the table of references in CONTRIBUTING.md, without its head."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## References\n")[2].partition("\n## ")[0]
    rows = []
    for line in section.splitlines():
        if line.startswith("| "):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[2:]


@pytest.mark.parametrize("row", rows_of_references(), ids=lambda row: row[2])
def test_the_files_of_the_table_of_references_exist(row):
    _, reference, copy, comparison = (re.findall(r"`(.+?)`", cell) for cell in row)
    missing = [name for name in reference if not (ROOT / "hsd_viz" / name).is_file()]
    for name in copy:
        folder = ROOT if name.startswith("js/") else ROOT / "hsd_viz"
        if not (folder / name).is_file():
            missing.append(name)
    missing += [name for name in comparison if not (ROOT / "tests" / name).is_file()]
    assert copy
    assert comparison
    assert missing == []
