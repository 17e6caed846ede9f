"""What a page shows of a run while it goes on: its text as it grows, its figures, how far it is, and what is no longer this run's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from hsd_viz.trace import Event, Stage, Started, Step, Trace
from hsd_viz.views.notice import Notice
from hsd_viz.views.readout import Readout
from hsd_viz.views.runner import Run
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.tabs import Tabs

#: Seconds between two updates of the tiles during a run: figures that change faster cannot be read.
TILES_EVERY = 0.5


class RunPage(Protocol):
    """The page that a run is shown on; :meth:`occupy` says whether one goes on, so that no other can be started."""

    trace: Trace | None
    notice: Notice
    readout: Readout
    stream: TokenStream
    tabs: Tabs

    def occupy(self, busy: bool) -> None: ...

    def decoded(self, trace: Trace | None) -> None:
        """What is on the page is a run decoded here, and no recording; ``None`` while it goes on."""


class PageRun:
    """The run on the page, one at a time: a :class:`~hsd_viz.views.runner.Watcher`, whose methods the worker thread calls."""

    def __init__(self, page: RunPage) -> None:
        self._page = page
        self._run: Run | None = None
        self._kind, self._cancelled, self._tiled = "recording", False, 0.0

    def start(self, events: Callable[[], Iterator[Event]], kind: str, words: str) -> None:
        """Begin what ``events()`` brings. ``kind`` is ``live`` or ``replay``, ``words`` is said until something is known."""
        self._kind, self._cancelled = kind, False
        self._page.occupy(True)
        self._page.readout.busy(Stage(words))
        self._run = Run(events, self)

    def cancel(self) -> None:
        """Stop after the token in progress."""
        if self._run is not None:
            self._run.cancel()
            self._cancelled = True
            self._page.readout.busy(Stage("cancelling"))

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; whether it came."""
        return self._run is None or self._run.join(timeout)

    # --- told by the worker thread ---------------------------------------------------------------------------------------

    def on_stage(self, stage: Stage) -> None:
        if not self._cancelled:
            self._page.readout.busy(stage)

    def on_started(self, started: Started) -> None:
        self._page.stream.begin(started.meta, started.pieces)
        # Nothing of the run before may be taken for this one's: tiles start anew, what is drawn of a whole run is greyed until it ends.
        if self._kind == "live":
            self._page.readout.show(Trace(started.meta), self._kind, running=True)
            self._page.decoded(None)
        self._stale(True)
        self._tiled = 0.0

    def on_steps(self, steps: list[Step], trace: Trace) -> None:
        self._page.stream.append(steps)
        now = time.monotonic()
        if now - self._tiled < TILES_EVERY:
            return
        self._tiled = now
        if self._kind == "live":
            # A replay shows the figures of the whole recording from the start.
            self._page.readout.show(trace, self._kind, running=True)
        if not self._cancelled:
            done, total = len(trace.token_rows), trace.meta.get("max_new_tokens") or 0
            verb = "decoding" if self._kind == "live" else "replaying"
            self._page.readout.busy(Stage(f"{verb} {done}/{total}" if total else f"{verb} {done}", done, total or None))

    def on_end(self, trace: Trace | None, error: BaseException | None) -> None:
        page = self._page
        try:
            if trace is not None and trace.token_rows:
                page.trace = trace
                page.stream.end(trace)
                page.readout.show(trace, "live" if self._kind == "live" else "recording")
                if self._kind == "live":
                    page.decoded(trace)
                page.tabs.refresh()
            else:
                page.stream.end()
        except Exception as caught:
            error = error or caught
        finally:
            self._stale(False)
            page.readout.idle()
            page.occupy(False)
        if error is not None:
            page.notice.error(error)

    def _stale(self, stale: bool) -> None:
        for section in self._page.tabs.panels:
            section.stale(stale)
