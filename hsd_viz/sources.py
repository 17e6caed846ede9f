"""What returns the draft sources that a stack can name. The top package registers it, because
drafters import the grammar of stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: The items that a draft source takes in brackets, by its name.
ItemsByName = Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class SourceProvider:
    """The function that returns the draft sources.

    Attributes:
        items_by_name: return those of all registered drafters.
    """

    items_by_name: Callable[[], ItemsByName]


def _unregistered() -> ItemsByName:
    raise AssertionError("hsd_viz registers its draft sources when it is imported")


#: The registered function.
PROVIDER = SourceProvider(items_by_name=_unregistered)
