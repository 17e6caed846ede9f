"""Schemas of the arguments of tools."""

from __future__ import annotations

from typing import Any

from hsd_viz.settings.declare import settings_of


def text(description: str, length: int = 200, **more: Any) -> dict[str, Any]:
    """Return the schema of a text."""
    return {"type": "string", "description": description, "maxLength": length, **more}


def number(description: str, low: float, high: float) -> dict[str, Any]:
    """Return the schema of a number."""
    return {"type": "number", "description": description, "minimum": low, "maximum": high}


def whole(description: str, low: int, high: int) -> dict[str, Any]:
    """Return the schema of a whole number."""
    return {**number(description, low, high), "type": "integer"}


def several(items: dict[str, Any], description: str, most: int) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "description": description, "maxItems": most}


def figure(declaration: type, name: str, description: str) -> dict[str, Any]:
    """Return the schema of a figure of the doctor, with its declared range."""
    limits = settings_of(declaration)[name].range
    assert limits is not None and limits.high is not None
    if isinstance(limits.low, int):
        return whole(description, limits.low, int(limits.high))
    return number(description, limits.low, limits.high)


#: Schemas that several tools use.
FILE = text("a file of the server's folder", 1000)
GPU = text("the GPU, as in H100")
MODELS = several(
    text("a name, as in llama-8b"), "the target, then its draft models, as in eagle3", 4
)
