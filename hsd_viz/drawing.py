"""What draws a trace and a result: functions that the top package registers.

A trace and a result are below the page and the figures in the direction of imports, and have
methods that show them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Drawing:
    """The functions that draw.

    Attributes:
        show: return the view of a trace.
        to_html: return the page of a trace.
        figure: return the plotly figure of a result.
    """

    show: Callable[[Any], Any]
    to_html: Callable[[Any], str]
    figure: Callable[[Any], Any]


_registered: Drawing | None = None


def register_drawing(drawing: Drawing) -> None:
    """Use these functions in the whole process."""
    global _registered
    _registered = drawing


def drawing() -> Drawing:
    """Return the registered functions."""
    assert _registered is not None, "hsd_viz registers what draws when it is imported"
    return _registered
