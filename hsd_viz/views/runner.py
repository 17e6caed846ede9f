"""One decode in a worker thread: widget callbacks are served one after the other, so none of them may decode."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace

#: Seconds between two flushes to the page: 20 a second look continuous and leave the time to the decode.
FLUSH = 0.05


class Watcher(Protocol):
    """Who is told what happens. All methods are called from the worker thread."""

    def on_stage(self, stage: Stage) -> None: ...
    def on_started(self, started: Started) -> None: ...
    def on_steps(self, steps: list[Step], trace: Trace) -> None: ...
    def on_end(self, trace: Trace | None, error: BaseException | None) -> None: ...


class Run:
    """Runs ``events()`` (what an engine's ``decode`` returns) to its end, or until :meth:`cancel`.

    ``on_end`` is called exactly once, with what was decoded so far (``None`` when nothing was) and the error, if any.
    """

    def __init__(self, events: Callable[[], Iterator[Event]], watcher: Watcher) -> None:
        self._events, self._watcher = events, watcher
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._work, name="hsd-viz run", daemon=True)
        self._thread.start()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the token in progress; loading a model cannot be interrupted, so it may take that long."""
        self._cancelled.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; whether it came."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        trace: Trace | None = None
        error: BaseException | None = None
        waiting: list[Step] = []
        last = 0.0
        events: Iterator[Event] | None = None
        try:
            events = self._events()
            for event in events:
                match event:
                    case Stage():
                        # What comes after the text is finished must not hold its end back.
                        if waiting:
                            self._watcher.on_steps(waiting, trace)
                            waiting = []
                        self._watcher.on_stage(event)
                    case Started():
                        trace = Trace(event.meta)
                        trace.pieces.update(event.pieces)
                        self._watcher.on_started(event)
                    case Step():
                        trace.append(event)
                        waiting.append(event)
                        if time.monotonic() - last >= FLUSH:
                            self._watcher.on_steps(waiting, trace)
                            waiting, last = [], time.monotonic()
                    case Finished():
                        trace = event.trace
                if self.cancelled:
                    break
        except Exception as caught:
            error = caught
        finally:
            try:
                # Closing the generator is what cancels the decode and completes the meta that the trace shares.
                if hasattr(events, "close"):
                    events.close()
                if waiting and trace is not None:
                    self._watcher.on_steps(waiting, trace)
            except Exception as caught:
                error = error or caught
            self._watcher.on_end(trace, error)
