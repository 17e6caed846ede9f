"""One decode in a thread of its own, told of by another.

Widget callbacks are served one after the other, so none of them may decode. And what is told to the page is written out by a second
thread: while a model's forward runs, the first does not need the interpreter, and the page costs the decode next to nothing.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace

#: Seconds between two flushes to the page: 12 a second look continuous and leave the time to the decode.
FLUSH = 0.08
#: Seconds for which the decode waits at most, coming back from a forward, for the interpreter that the other thread has. Python's own
#: are five milliseconds: several forwards.
SWITCH = 0.0001
#: What it is while nothing runs; read once, as runs of two pages in one process may overlap.
UNHURRIED = sys.getswitchinterval()


class Watcher(Protocol):
    """Who is told what happens. All methods are called from one thread, which is not the one that decodes."""

    def on_stage(self, stage: Stage) -> None: ...
    def on_started(self, started: Started) -> None: ...
    def on_steps(self, steps: list[Step], trace: Trace) -> None: ...
    def on_end(self, trace: Trace | None, error: BaseException | None) -> None: ...


class Run:
    """Runs ``events()`` (what an engine's ``decode`` returns) to its end, or until :meth:`cancel`.

    ``on_end`` is called exactly once, with what was decoded so far (``None`` when nothing was) and the error, if any. An error of the
    watcher's ends the decode, too.
    """

    def __init__(self, events: Callable[[], Iterator[Event]], watcher: Watcher) -> None:
        self._events, self._watcher = events, watcher
        self._cancelled = threading.Event()
        #: What the decode has brought and the watcher was not told: one thread appends, the other takes from the front.
        self._inbox: deque[Event] = deque()
        #: Set where the watcher shall be told at once, and not at the next flush.
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
        """Stop after the token in progress; loading a model cannot be interrupted, so it may take that long."""
        self._cancelled.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; whether it came."""
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
                # Closing the generator is what cancels the decode and completes the meta that the trace shares.
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
                over = self._over  # asked before the inbox is emptied: afterwards nothing more comes
                trace = self._tell(trace)
        except Exception as caught:
            error = caught
            self.cancel()
            self._decoder.join()
        self._watcher.on_end(trace, error or self._error)

    def _tell(self, trace: Trace | None) -> Trace | None:
        """Tell the watcher what is in the inbox, steps that follow one another at once. Returns the trace as far as it goes."""
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
