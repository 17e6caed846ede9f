"""The draft sources that a stack may start with: the registered drafters, and ``auto``.

Drafters are above the grammar in the direction of imports: the top package registers the function
that lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: The items that a draft source takes in brackets, by its name.
ItemsByName = Mapping[str, tuple[str, ...]]

#: The names of database drafting and of the choice of a stack.
DATABASE = "db"
AUTO = "auto"

_list_drafters: Callable[[], ItemsByName] | None = None


def register_drafters(list_drafters: Callable[[], ItemsByName]) -> None:
    """Use this function in the whole process to list the drafters with their items."""
    global _list_drafters
    _list_drafters = list_drafters


def draft_sources() -> dict[str, tuple[str, ...]]:
    """Return every draft source with the items it takes in brackets."""
    assert _list_drafters is not None, "hsd_viz registers the drafters when it is imported"
    return {**_list_drafters(), AUTO: (DATABASE,)}
