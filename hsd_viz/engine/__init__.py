"""Who decodes: :func:`load_engine` for this process, :class:`ReplayEngine` for recorded traces. Import-light: no torch."""

from importlib import import_module
from typing import Any

from hsd_viz.engine.base import Engine

_LAZY = {"load_engine": "local", "LocalEngine": "local", "ReplayEngine": "replay"}

__all__ = ["Engine", "prepare", *_LAZY]


def prepare() -> None:
    """Begin in the background to compile what decoding on a CPU wants, so that it is there when the first decode begins."""
    from hsd_viz.backends import default_build

    default_build().start()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
