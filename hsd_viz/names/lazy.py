"""Packages whose names load on first use, so that importing them takes no time."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from hsd_viz.names.hints import guess


def lazily(
    package: str,
    modules: Mapping[str, Iterable[str]],
    submodules: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the names of a package load on first use.

    Args:
        package: its name.
        modules: relative names of modules, and the names that each has.
        submodules: names that are modules themselves, and their relative names.

    Returns:
        ``__getattr__``, ``__dir__`` and ``__all__`` of the package.
    """
    homes: dict[str, str] = {}
    for module, names in modules.items():
        homes |= dict.fromkeys(names, module)
    public = sorted({*homes, *submodules})

    def load(name: str) -> Any:
        if name in submodules:
            return import_module(submodules[name], package)
        if name not in homes:
            meant = guess(package.replace("hsd_viz", "hsd", 1), name, public)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        return getattr(import_module(homes[name], package), name)

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return load, directory, public
