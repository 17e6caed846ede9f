"""What a package needs of those that import it: what draws a trace, and which drafters there are.

Imports have one direction, so the top package registers these functions when it is imported
(:func:`register`); they import what they need on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: The items that a draft source takes in brackets, by its name.
ItemsByName = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Providers:
    """The functions that are provided.

    Attributes:
        show: return the view of a trace.
        to_html: return the page of a trace.
        figure: return the plotly figure of a result.
        draft_sources: return the draft sources of all registered drafters.
    """

    show: Callable[[Any], Any]
    to_html: Callable[[Any], str]
    figure: Callable[[Any], Any]
    draft_sources: Callable[[], ItemsByName]


_registered: Providers | None = None


def register(providers: Providers) -> None:
    """Provide these functions to the whole process, in place of those before."""
    global _registered
    _registered = providers


def provided() -> Providers:
    """Return the registered functions."""
    assert _registered is not None, "hsd_viz registers its providers when it is imported"
    return _registered
