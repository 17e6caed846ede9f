"""Load and concatenate the views' scripts and styles; there is no build."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"


def joined(*names: str) -> str:
    """Return the named files of ``static/``, concatenated into one script or style."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
