"""The token stream: every emitted token with its source and verdict."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from typing import Any

import traitlets

from hsd_viz.trace import Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.doors import Given, trace_of
from hsd_viz.views.linked import LinkedView


class TokenStream(LinkedView):
    """The text of a decode, token by token: hover previews a token's details, click or Enter pins them, Esc unpins.

    ``TokenStream(trace)`` shows a finished trace. For a live run call :meth:`begin`, :meth:`append` for each step (from
    any thread) and :meth:`end`. A page opened late or reloaded requests missing steps; ``data`` always holds a whole
    trace, shared with the views of its group (:mod:`hsd_viz.views.linked`).

    ``pinned`` is the index of the pinned token (-1: none), ``dark`` the page's theme; ``ghosts`` and ``boundaries``
    show rejected drafts and round marks; ``whitespace`` shows glyphs for spaces, tabs and invisible characters and
    marks trailing blanks.
    """

    view = traitlets.Unicode("stream").tag(sync=True)

    pinned = traitlets.Int(-1).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)
    ghosts = traitlets.Bool(True).tag(sync=True)
    boundaries = traitlets.Bool(True).tag(sync=True)
    whitespace = traitlets.Bool(False).tag(sync=True)
    dark = traitlets.Bool(False).tag(sync=True)

    def __init__(self, trace: Given | None = None, group: str | None = None, **options: Any) -> None:
        # Steps come from a worker thread, requests of the page from the kernel's.
        self._lock = threading.RLock()
        self._trace: Trace | None = None
        super().__init__(Trace({}) if trace is None else trace, group, **options)
        self.on_msg(self._on_message)

    def show(self, trace: Given) -> None:
        """Show a whole trace."""
        trace = trace_of(trace)
        with self._lock:
            self._begin(trace)
            self._seq = 1
            self._publish()
            self.pinned, self.live, self.selected, self.cursor = -1, False, [], {}

    def retire(self) -> None:
        """See :meth:`hsd_viz.views.doors.Doors.retire`."""
        super().retire()
        self._trace = None

    def begin(self, meta: dict[str, Any], pieces: dict[int, str] | None = None) -> None:
        """Start a live run with ``meta`` and ``pieces`` of :class:`~hsd_viz.trace.Started`."""
        # A separate trace, so that a snapshot has no unsent steps.
        trace = Trace(meta)
        trace.pieces.update(pieces or {})
        with self._lock:
            self._begin(trace)
            self.pinned, self.selected, self.cursor = -1, [], {}
            self._publish()
            self.live = True

    def append(self, steps: Step | Iterable[Step]) -> None:
        """Send new steps of a live run in one message."""
        steps = [steps] if isinstance(steps, Step) else list(steps)
        if not steps:
            return
        with self._lock:
            for step in steps:
                self._trace.append(step)
            first = self._seq + 1
            self._seq += len(steps)
            self.send(run_data.append(self._run, first, steps))

    def end(self, trace: Trace | None = None) -> None:
        """End the live run and store it in ``data`` for reloaded pages."""
        with self._lock:
            if trace is not None:
                self._trace = trace
            self._publish()
            self.live = False

    @property
    def _shown(self) -> Trace | None:
        return self._trace if self._trace is not None and len(self._trace) else None

    @_shown.setter
    def _shown(self, _trace: Trace | None) -> None:
        """The stream keeps its own trace, which a live run extends."""

    def _begin(self, trace: Trace) -> None:
        self._trace, self._run, self._seq = trace, uuid.uuid4().hex, 0

    def _publish(self) -> None:
        self.data = {"run": self._run, "seq": self._seq, **run_data.snapshot(self._trace)}

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "sync":
            with self._lock:
                self._publish()
