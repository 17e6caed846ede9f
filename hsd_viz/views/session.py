"""What the browser keeps over a reload: the form's values, and the run decoded on the page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import traitlets

from hsd_viz.trace import Trace
from hsd_viz.views.open_trace import read_trace
from hsd_viz.views.scripts import Part

#: Maximum bytes of a kept run: a browser keeps about 5 MB per page.
MOST_BYTES = 3_000_000


class Session(Part):
    """The browser's storage of this page. ``form`` is stored on every change.

    ``arrived(form, trace)`` is called once when the browser reports what it stores (``None``: nothing).
    """

    view = traitlets.Unicode("session").tag(sync=True)

    form = traitlets.Dict().tag(sync=True)

    def __init__(self, arrived: Callable[[dict[str, Any] | None, Trace | None], None]) -> None:
        self._arrived = arrived
        #: Whether the browser has reported what it stores.
        self.ready = False
        super().__init__()
        self.on_msg(self._on_message)

    def keep(self, trace: Trace) -> None:
        """Store a run in place of the previous one."""
        file = trace.to_bytes()
        if len(file) <= MOST_BYTES:
            self.send({"kind": "keep"}, [file])

    def _on_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        if self.ready or not isinstance(content, dict) or content.get("kind") != "stored":
            return
        self.ready = True
        form, trace = content.get("form"), None
        with contextlib.suppress(ValueError):  # of another version: the page opens without it
            trace = read_trace(bytes(buffers[0]), "the stored run") if buffers else None
        self._arrived(form if isinstance(form, dict) else None, trace)
