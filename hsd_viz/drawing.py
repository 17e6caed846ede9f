"""A registry of the functions that draw traces and results.

Traces and results have methods that show them, but must not import the page and the figures, which
import them. The top package therefore registers the functions here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Drawing:
    """The functions that draw traces and results.

    Attributes:
        show: function that returns the view of a trace.
        to_html: function that returns the HTML page of a trace.
        figure: function that returns the plotly figure of a result.
    """

    show: Callable[[Any], Any]
    to_html: Callable[[Any], str]
    figure: Callable[[Any], Any]


_registered: Drawing | None = None


def register_drawing(drawing: Drawing) -> None:
    """Register the functions for the whole process."""
    global _registered
    _registered = drawing


def drawing() -> Drawing:
    """Return the registered functions."""
    assert _registered is not None, "hsd_viz registers what draws when it is imported"
    return _registered
