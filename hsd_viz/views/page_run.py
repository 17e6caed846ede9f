"""A run in progress on the page: growing text, metrics, progress, and stale marks on views of the previous run."""

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

#: Seconds between updates of the tiles, so that they stay readable.
TILES_EVERY = 0.5
#: Seconds that a replay takes at least, and the paces for it.
WATCHABLE, PACES = 4.0, (1, 1 / 2, 1 / 5, 1 / 10, 1 / 20, 1 / 50, 1 / 100)


def replay_pace(trace: Trace) -> float:
    """Return the pace of a replay, 1 the recorded speed: slower where the recording is over too soon to be watched."""
    return next((pace for pace in PACES if trace.metrics()["seconds"] / pace >= WATCHABLE), PACES[-1])


class RunPage(Protocol):
    """The page of a run; :meth:`occupy` blocks a second run."""

    trace: Trace | None
    notice: Notice
    readout: Readout
    stream: TokenStream
    tabs: Tabs

    def occupy(self, busy: bool) -> None: ...

    def decoded(self, trace: Trace | None) -> None:
        """Set the run decoded here; ``None`` while it is in progress."""


class PageRun:
    """The page's run, one at a time: a :class:`~hsd_viz.views.runner.Watcher` called by the worker thread."""

    def __init__(self, page: RunPage) -> None:
        self._page = page
        self._run: Run | None = None
        self._kind, self._cancelled, self._tiled, self._pace = "recording", False, 0.0, 1.0

    def start(self, events: Callable[[], Iterator[Event]], kind: str, words: str, pace: float = 1.0) -> None:
        """Start a run from ``events()``. ``kind`` is ``live`` or ``replay`` (at ``pace``), ``words`` the first stage
        text.
        """
        self._kind, self._cancelled, self._pace = kind, False, pace
        self._page.occupy(True)
        self._page.readout.busy(Stage(words))
        self._run = Run(events, self)

    def cancel(self) -> None:
        """Stop after the current token."""
        if self._run is not None:
            self._run.cancel()
            self._cancelled = True
            self._page.readout.busy(Stage("cancelling"))

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether it was reached."""
        return self._run is None or self._run.join(timeout)

    # --- called by the worker thread ----------------------------------------------------------------------------------

    def on_stage(self, stage: Stage) -> None:
        if not self._cancelled:
            self._page.readout.busy(stage)

    def on_started(self, started: Started) -> None:
        self._page.stream.begin(started.meta, started.pieces)
        # Results of the previous run must not look current: tiles are reset, views of a whole run are greyed until the
        # end.
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
            # A replay shows the recording's final metrics from the start.
            self._page.readout.show(trace, self._kind, running=True)
        if not self._cancelled:
            done, total = len(trace), trace.meta.get("max_new_tokens") or 0
            slow = "" if self._pace == 1 else f" at 1/{1 / self._pace:.0f} of the recorded speed,"
            verb = "decoding" if self._kind == "live" else f"replaying{slow}"
            self._page.readout.busy(Stage(f"{verb} {done}/{total}" if total else f"{verb} {done}", done, total or None))

    def on_end(self, trace: Trace | None, error: BaseException | None) -> None:
        page = self._page
        try:
            if trace is not None and len(trace):
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
