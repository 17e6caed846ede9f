"""Engines: :func:`load_engine` decodes in this process, :class:`RemoteEngine` on a server. No torch."""

from importlib import import_module
from typing import Any

from hsd_viz.decoding.engine import DEFAULTS, Engine, Options

_LAZY = {"load_engine": "local", "LocalEngine": "local", "RemoteEngine": "remote"}

__all__ = ["DEFAULTS", "Engine", "Options", "prepare", *_LAZY]


def prepare() -> None:
    """Start compiling the native CPU backend in the background, so that it is ready for the first decode."""
    from hsd_viz.native.build import default_build

    default_build().start()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
