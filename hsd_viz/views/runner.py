"""A decode in one worker thread, reported to the page by another.

Widget callbacks are serial, so none may decode. A second thread sends updates while model forward passes release the
interpreter lock, so the page barely slows down the decode.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace

#: Seconds between updates of the page: 12 per second look continuous.
FLUSH = 0.08
#: Maximum seconds that the decode waits for the interpreter lock after a forward pass. Python's default, five
#: milliseconds, is several forward passes.
SWITCH = 0.0001
#: The idle switch interval, read once because runs of two pages in one process may overlap.
UNHURRIED = sys.getswitchinterval()


class Watcher(Protocol):
    """Receives the events of a run. All methods are called from one thread, not the decoding one."""

    def on_stage(self, stage: Stage) -> None: ...
    def on_started(self, started: Started) -> None: ...
    def on_steps(self, steps: list[Step], trace: Trace) -> None: ...
    def on_end(self, trace: Trace | None, error: BaseException | None) -> None: ...


class Run:
    """Run ``events()`` (from an engine's ``decode``) to its end, or until :meth:`cancel`.

    ``on_end`` is called exactly once, with the trace so far (or ``None``) and the error, if any. An error of the
    watcher also ends the decode.
    """

    def __init__(self, events: Callable[[], Iterator[Event]], watcher: Watcher) -> None:
        self._events, self._watcher = events, watcher
        self._cancelled = threading.Event()
        #: Events not yet reported: one thread appends, the other pops from the front.
        self._inbox: deque[Event] = deque()
        #: Set to report at once instead of at the next update.
        self._urgent = threading.Event()
        self._over = False
        self._error: BaseException | None = None
        self._decoder = threading.Thread(target=self._decode, name="hsd-viz decode", daemon=True)
        self._thread = threading.Thread(target=self._work, name="hsd-viz run", daemon=True)
        self._decoder.start()
        self._thread.start()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop after the current token; model loading cannot be interrupted."""
        self._cancelled.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; return whether it was reached."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _decode(self) -> None:
        events: Iterator[Event] | None = None
        sys.setswitchinterval(SWITCH)
        try:
            events = self._events()
            for event in events:
                self._inbox.append(event)
                if not isinstance(event, Step):
                    self._urgent.set()
                if self.cancelled:
                    break
        except Exception as caught:
            self._error = caught
        finally:
            try:
                # Closing the generator cancels the decode and completes the trace's meta.
                if hasattr(events, "close"):
                    events.close()
            except Exception as caught:
                self._error = self._error or caught
            sys.setswitchinterval(UNHURRIED)
            self._over = True
            self._urgent.set()

    def _work(self) -> None:
        trace: Trace | None = None
        error: BaseException | None = None
        try:
            over = False
            while not over:
                self._urgent.wait(FLUSH)
                self._urgent.clear()
                over = self._over  # read before emptying the inbox: nothing is added afterwards
                trace = self._tell(trace)
        except Exception as caught:
            error = caught
            self.cancel()
            self._decoder.join()
        self._watcher.on_end(trace, error or self._error)

    def _tell(self, trace: Trace | None) -> Trace | None:
        """Report the inbox to the watcher, consecutive steps in one call. Return the trace so far."""
        steps: list[Step] = []
        for _ in range(len(self._inbox)):
            event = self._inbox.popleft()
            if isinstance(event, Step):
                trace.append(event)
                steps.append(event)
                continue
            if steps:
                self._watcher.on_steps(steps, trace)
                steps = []
            match event:
                case Stage():
                    self._watcher.on_stage(event)
                case Started():
                    trace = Trace(event.meta)
                    trace.pieces.update(event.pieces)
                    self._watcher.on_started(event)
                case Finished():
                    trace = event.trace
        if steps:
            self._watcher.on_steps(steps, trace)
        return trace
