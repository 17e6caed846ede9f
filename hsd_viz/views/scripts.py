"""The built scripts and styles of the views; their sources are in ``js/``."""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"
