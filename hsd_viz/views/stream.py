"""The token stream: every emitted token, where it came from and what the verifier said of it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from typing import Any

import traitlets

from hsd_viz.trace import Step, Trace
from hsd_viz.views import payload
from hsd_viz.views.linked import LinkedView, css, esm

#: The view's own scripts, in their order.
FILES = ("stream_text.js", "stream_pane.js", "stream_find.js", "stream_card.js", "stream.js")


class TokenStream(LinkedView):
    """The text of one decode, token by token: hover previews a token's details, click or Enter pins them, Esc lets go.

    ``TokenStream(trace)`` shows a finished trace. For a live run call :meth:`begin`, :meth:`append` for each step (from any
    thread) and :meth:`end`. What the browser missed, because the page was opened late or reloaded, it asks for; ``data`` always
    holds a whole trace, which the other views of its group show, too (:mod:`hsd_viz.views.linked`).

    ``pinned`` is the index of the pinned token (-1: none), ``dark`` what the page said of its theme, ``ghosts`` and
    ``boundaries`` switch the rejected drafts and the round marks, ``whitespace`` gives blanks their glyphs: dots for spaces, arrows for
    tabs, code points for what else cannot be seen, and a ground of its own for blanks at the end of a line. ``/`` searches the text.
    """

    _esm = esm(*FILES)
    _css = css("stream.css")

    pinned = traitlets.Int(-1).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)
    ghosts = traitlets.Bool(True).tag(sync=True)
    boundaries = traitlets.Bool(True).tag(sync=True)
    whitespace = traitlets.Bool(False).tag(sync=True)
    dark = traitlets.Bool(False).tag(sync=True)

    def __init__(self, trace: Trace | None = None, group: str | None = None, **options: Any) -> None:
        # Steps come from a worker thread, requests of the page on the kernel's own.
        self._lock = threading.RLock()
        super().__init__(Trace({}) if trace is None else trace, group, **options)
        self.on_msg(self._on_message)

    def show(self, trace: Trace) -> None:
        """Show a whole trace at once."""
        with self._lock:
            self._begin(trace)
            self._seq = 1
            self._publish()
            self.pinned, self.live = -1, False

    def begin(self, meta: dict[str, Any], pieces: dict[int, str] | None = None) -> None:
        """Start a live run: ``meta`` and ``pieces`` as :class:`~hsd_viz.trace.Started` gives them."""
        # A trace of its own, so that a snapshot never holds steps that were not sent yet.
        trace = Trace(meta)
        trace.pieces.update(pieces or {})
        with self._lock:
            self._begin(trace)
            self.pinned = -1
            self._publish()
            self.live = True

    def append(self, steps: Step | Iterable[Step]) -> None:
        """Show the steps that a live run took since the last call, in one message."""
        steps = [steps] if isinstance(steps, Step) else list(steps)
        if not steps:
            return
        with self._lock:
            for step in steps:
                self._trace.append(step)
            first = self._seq + 1
            self._seq += len(steps)
            self.send(
                {
                    "kind": "append",
                    "run": self._run,
                    "first": first,
                    "seq": self._seq,
                    "steps": [payload.step(s) for s in steps],
                }
            )

    def end(self, trace: Trace | None = None) -> None:
        """The live run is over: put all of it into ``data``, so that a reloaded page shows it."""
        with self._lock:
            if trace is not None:
                self._trace = trace
            self._publish()
            self.live = False

    def _begin(self, trace: Trace) -> None:
        self._trace, self._run, self._seq = trace, uuid.uuid4().hex, 0

    def _publish(self) -> None:
        self.data = {"run": self._run, "seq": self._seq, **payload.snapshot(self._trace)}

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "sync":
            with self._lock:
                self._publish()
