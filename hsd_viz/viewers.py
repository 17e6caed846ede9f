"""What shows traces and results. The top package registers it, because what draws imports what is
drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Viewers:
    """The functions that draw.

    Attributes:
        show: return the view of a trace.
        to_html: return the page of a trace.
        figure: return the figure of a result.
    """

    show: Callable[[Any], Any]
    to_html: Callable[[Any], Any]
    figure: Callable[[Any], Any]


def _unregistered(_: Any) -> Any:
    raise AssertionError("hsd_viz registers its viewers when it is imported")


#: The registered functions.
VIEWERS = Viewers(show=_unregistered, to_html=_unregistered, figure=_unregistered)
