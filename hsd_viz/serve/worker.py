"""A worker: decodes one request at a time in a thread and yields its events as batches of records."""

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, Protocol

from hsd_viz.engine import Engine
from hsd_viz.trace import Event, Step
from hsd_viz.trace.events import to_record

#: Seconds between batches, and the longest wait of the decode for the interpreter lock.
FLUSH, SWITCH = 0.04, 0.0005
_log = logging.getLogger(__name__)


class Decoders(Protocol):
    """What decodes for the web application: a worker in this process, or a deployment of workers."""

    def decode(self, request: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the events of a request in batches of records; closing the iterator cancels the decode."""


def error(message: str, *, retry: bool = False) -> dict[str, Any]:
    """Return the record that ends a decode with an error."""
    return {"event": "error", "message": message, "retry": retry}


class Worker:
    """Decodes with an engine of this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread: threading.Thread | None = None

    async def decode(self, request: dict[str, Any]) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the events of ``request`` (the arguments of :meth:`hsd_viz.engine.Engine.decode`) in batches."""
        if self._thread is not None:
            # A cancelled decode ends after its current round.
            await asyncio.to_thread(self._thread.join)
        run = _Run(lambda: self._engine.decode(**request), asyncio.get_running_loop())
        self._thread = run.thread
        try:
            while True:
                ended = await run.wait()
                if batch := run.take():
                    yield batch
                if ended:
                    break
        finally:
            run.cancel()


def load_worker(options: dict[str, Any]) -> Worker:
    """Load an engine (arguments of :func:`hsd_viz.engine.local.load_engine`) that is ready for its first request."""
    from hsd_viz.engine.local import load_engine

    engine = load_engine(**options, allow_models=False)
    engine.run("def", max_new_tokens=1)
    engine.wait_ready()
    return Worker(engine)


class _Run:
    """One decode in a thread. Its events are collected here and encoded by the reader."""

    def __init__(self, events: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._events, self._loop = events, loop
        self._inbox: deque[Event | dict[str, Any]] = deque()
        self._cancelled, self._ended = threading.Event(), False
        self._urgent = asyncio.Event()
        self.thread = threading.Thread(target=self._work, name="hsd-viz decode", daemon=True)
        self.thread.start()

    def cancel(self) -> None:
        """Stop after the current event."""
        self._cancelled.set()

    async def wait(self) -> bool:
        """Wait for the next batch; return whether the decode has ended."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._urgent.wait(), FLUSH)
        self._urgent.clear()
        return self._ended

    def take(self) -> list[dict[str, Any]]:
        """Return the records of the events so far."""
        events = [self._inbox.popleft() for _ in range(len(self._inbox))]
        return [event if isinstance(event, dict) else to_record(event) for event in events]

    def _work(self) -> None:
        events: Iterator[Event] | None = None
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            events = self._events()
            for event in events:
                self._add(event)
                if self._cancelled.is_set():
                    break
        except ValueError as invalid:
            self._add(error(str(invalid)))
        except Exception:
            _log.exception("a decode failed")
            self._add(error("the decode failed: the server's log has the cause"))
        finally:
            if events is not None:
                events.close()  # type: ignore[attr-defined]
            sys.setswitchinterval(before)
            self._ended = True
            self._wake()

    def _add(self, event: Event | dict[str, Any]) -> None:
        self._inbox.append(event)
        if not isinstance(event, Step):
            self._wake()

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._urgent.set)
