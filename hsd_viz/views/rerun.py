"""Close the views of a notebook cell that is run again: the notebook would keep them, with their runs, for ever."""

from __future__ import annotations

import sys
import weakref
from typing import Any

#: The last execution of each cell, and its views.
_CELLS: dict[str, tuple[str, weakref.WeakSet]] = {}


def displayed(view: Any) -> None:
    """Note a displayed view, and close those that an earlier execution of its cell displayed.

    A view with a name in the notebook's namespace stays, and so do the views of a box with a name.
    """
    found = _execution()
    if found is None:
        return
    cell, execution = found
    before, views = _CELLS.get(cell, (execution, weakref.WeakSet()))
    if before != execution:
        names = [value for name, value in _names().items() if not name.startswith("_") and name != "Out"]
        named = {id(part) for value in names for part in _parts(value)}
        for old in list(views):
            views.discard(old)
            if not any(id(part) in named for part in _parts(old)):
                for part in _parts(old):
                    part.retire() if hasattr(part, "retire") else part.close()
    _CELLS[cell] = (execution, views)
    views.add(view)


def _parts(widget: Any) -> list[Any]:
    """Return a widget and those within it."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in _parts(child))]


def _execution() -> tuple[str, str] | None:
    """Return the identifiers of the cell and of its execution; ``None`` outside a notebook that names its cells."""
    kernel = getattr(_shell(), "kernel", None)
    if kernel is None:
        return None
    parent = kernel.get_parent() or {}
    cell, execution = (parent.get("metadata") or {}).get("cellId"), (parent.get("header") or {}).get("msg_id")
    return (cell, execution) if cell and execution else None


def _shell() -> Any:
    core = sys.modules.get("IPython.core.getipython")
    return None if core is None else core.get_ipython()


def _names() -> dict[str, Any]:
    return dict(getattr(_shell(), "user_ns", {}))
