"""What the browser keeps over a reload: the form's values and the last runs decoded on the page."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from hsd_viz.trace import Trace
from hsd_viz.views.open_trace import read_trace
from hsd_viz.views.reports import MAX_BYTES
from hsd_viz.views.scripts import STATIC

#: Runs that the browser keeps, and runs held in the kernel's memory.
MOST_RUNS, MOST_HELD = 12, 4
#: Prefix of a kept run's menu value.
KEPT = "kept:"
#: Maximum characters of a stored value's name, of a label, and of an identifier.
MOST_LABEL, MOST_ID = 120, 64


class Session(anywidget.AnyWidget):
    """The browser's storage of this page. ``form`` is stored on every change.

    ``arrived(form)`` is called once with the stored form (or ``None``) when the browser reports, ``listed()`` after
    every change of ``runs`` (id → label, newest first), ``opened(id, trace)`` after :meth:`get` had to read a run, with
    ``None`` if it is no longer stored.
    """

    _esm = STATIC / "session.js"

    form = traitlets.Dict().tag(sync=True)
    most = traitlets.Int(MOST_RUNS).tag(sync=True)

    def __init__(
        self,
        arrived: Callable[[dict[str, Any] | None], None],
        listed: Callable[[], None],
        opened: Callable[[str, Trace | None], None],
    ) -> None:
        self._arrived, self._listed, self._opened = arrived, listed, opened
        #: Whether the browser has reported what it stores.
        self.ready = False
        self.runs: dict[str, str] = {}
        self._held: dict[str, Trace] = {}
        super().__init__()
        self.on_msg(self._on_message)

    def keep(self, trace: Trace, label: str) -> str:
        """Store a run in the browser and return its identifier."""
        name = uuid.uuid4().hex
        self._hold(name, trace)
        self.runs = {name: label, **self.runs}
        row = {"id": name, "label": label, "created": time.time()}
        file = trace.to_bytes()
        if len(file) <= MAX_BYTES:
            self.send({"kind": "keep", "run": row}, [file])
        return name

    def get(self, name: str) -> Trace | None:
        """Return a run if it is held here; else read it from the browser, which calls ``opened``."""
        if name not in self._held:
            self.send({"kind": "fetch", "id": name})
        return self._held.get(name)

    def holds(self, name: str) -> bool:
        """Whether a run is held here."""
        return name in self._held

    def _hold(self, name: str, trace: Trace) -> None:
        self._held[name] = trace
        for oldest in list(self._held)[:-MOST_HELD]:
            del self._held[oldest]

    def _on_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in ("stored", "runs"):
            self._list(content.get("runs"))
        if kind == "stored" and not self.ready:
            self.ready = True
            form = content.get("form")
            self._arrived(form if isinstance(form, dict) else None)
        elif kind == "run" and buffers and content.get("id") in self.runs:
            try:
                trace = read_trace(bytes(buffers[0]), "the stored run")
            except ValueError:
                self._opened(content["id"], None)
                return
            self._hold(content["id"], trace)
            self._opened(content["id"], trace)
        elif kind == "gone" and content.get("id") in self.runs:
            self._opened(content["id"], None)

    def _list(self, rows: Any) -> None:
        known = [r for r in rows if isinstance(r, dict)] if isinstance(rows, list) else []
        stored = {str(r.get("id"))[:MOST_ID]: str(r.get("label"))[:MOST_LABEL] for r in known[:MOST_RUNS]}
        self.runs = {name: label for name, label in self.runs.items() if name in self._held} | stored
        self._listed()
