"""Packages whose names load on first use, so that importing them takes no time."""

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from hsd_viz.names.hints import guess

#: ``__getattr__``, ``__dir__`` and ``__all__`` of a package.
LazyNames = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazily(package: str, modules: Mapping[str, Iterable[str]]) -> LazyNames:
    """Make the names of a package load on first use.

    Args:
        package: its name.
        modules: names of modules, which may be relative, and the names that each has.
    """
    places = {}
    for module, names in modules.items():
        for name in names:
            places[name] = (module, name)
    return _loaders(package, places)


def lazily_as_in(stub: Path, package: str) -> LazyNames:
    """Make the names of a package load on first use that its stub file imports: one list for Python
    and for type checkers (SPEC 1 of scientific-python.org).
    """
    return _loaders(package, names_in_stub(stub))


def names_in_stub(stub: Path) -> dict[str, tuple[str, str]]:
    """Return the module and the name in it of each public name of a stub file.

    Public is what is imported ``as`` itself, or assigned: ``name = imported``.
    """
    imported = {}
    public = {}
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        match statement:
            case ast.ImportFrom(module=str(module), names=aliases):
                for alias in aliases:
                    imported[alias.name] = (module, alias.name)
                    if alias.asname == alias.name:
                        public[alias.name] = imported[alias.name]
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=source)):
                public[name] = imported[source]
    return public


def _loaders(package: str, places: Mapping[str, tuple[str, str]]) -> LazyNames:
    """Return what a package defines whose names are at these places."""
    public = sorted(places)

    def load(name: str) -> Any:
        if name not in places:
            meant = guess(package.replace("hsd_viz", "hsd", 1), name, public)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        home, own_name = places[name]
        if home == package:
            return import_module(f"{package}.{own_name}")
        module = import_module(home, package)
        if not hasattr(module, own_name):
            return import_module(f"{module.__name__}.{own_name}")
        return getattr(module, own_name)

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return load, directory, public
