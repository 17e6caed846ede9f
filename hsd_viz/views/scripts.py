"""The views' scripts and styles on disk, and how several become one: there is no build, they are joined as they are."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def joined(*names: str) -> str:
    """The files of ``static/`` of these names, one behind the other: a widget's script (or style) is whole by itself."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
