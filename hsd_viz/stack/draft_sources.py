"""The draft sources that a stack may start with: the registered drafters, and ``auto``.

The grammar must not import drafters, so the top package registers the function that lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: The items that each draft source takes in brackets, by name.
ItemsByName = Mapping[str, tuple[str, ...]]

#: The name of database drafting.
DATABASE = "db"
#: The name of the source with which the selector chooses the stack.
AUTO = "auto"

_list_drafters: Callable[[], ItemsByName] | None = None


def register_drafters(list_drafters: Callable[[], ItemsByName]) -> None:
    """Register the function that lists the drafters with their items, for the whole process."""
    global _list_drafters
    _list_drafters = list_drafters


def draft_sources() -> dict[str, tuple[str, ...]]:
    """Return the items that each draft source takes in brackets, by name."""
    assert _list_drafters is not None, "hsd_viz registers the drafters when it is imported"
    return {**_list_drafters(), AUTO: (DATABASE,)}
