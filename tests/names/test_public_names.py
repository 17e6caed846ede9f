"""The public names of the package: what type checkers see is what loads on first use."""

from __future__ import annotations

import ast
from pathlib import Path

import hsd_viz

#: Listed for Python alone: it is imported, not loaded on first use.
IMPORTED = {"__version__"}


def names_for_type_checkers() -> dict[str, str]:
    """Return the names that the package imports for type checkers, with their modules."""
    tree = ast.parse(Path(hsd_viz.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    names = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            names[alias.asname or alias.name] = statement.module
    return names


def names_on_first_use() -> dict[str, str]:
    """Return the names that load on first use, with their modules."""
    names = {}
    for module, loaded in hsd_viz._MODULES.items():
        names |= dict.fromkeys(loaded, f"hsd_viz{module}")
    for name, module in hsd_viz._SUBMODULES.items():
        names[name] = f"hsd_viz{module}".rpartition(".")[0]
    return names


def test_type_checkers_see_the_names_that_load_on_first_use():
    names = names_on_first_use()
    for name in IMPORTED:
        del names[name]
    assert names_for_type_checkers() == names


def test_every_public_name_loads():
    for name in hsd_viz.__all__:
        assert getattr(hsd_viz, name) is not None
