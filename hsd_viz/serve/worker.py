"""A worker: decodes one request at a time in a thread and yields its events as batches of records."""

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from typing import Any, Protocol

from hsd_viz.engine import Engine
from hsd_viz.trace import Step
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
        loop, urgent = asyncio.get_running_loop(), asyncio.Event()
        inbox: deque[Any] = deque()
        cancelled, wake = threading.Event(), lambda: loop.call_soon_threadsafe(urgent.set)
        work = (request, inbox, cancelled, wake)
        self._thread = threading.Thread(target=self._work, args=work, name="hsd-viz decode", daemon=True)
        self._thread.start()
        try:
            ended = False
            while not ended:
                with suppress(TimeoutError):
                    await asyncio.wait_for(urgent.wait(), FLUSH)
                urgent.clear()
                events = [inbox.popleft() for _ in range(len(inbox))]
                if ended := None in events:
                    events.remove(None)
                if events:
                    yield [event if isinstance(event, dict) else to_record(event) for event in events]
        finally:
            cancelled.set()

    def _work(
        self, request: dict[str, Any], inbox: deque[Any], cancelled: threading.Event, wake: Callable[[], Any]
    ) -> None:
        """Put the events of a decode into ``inbox``, and None at the end."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            with closing(self._engine.decode(**request)) as events:
                for event in events:
                    inbox.append(event)
                    if not isinstance(event, Step):
                        wake()
                    if cancelled.is_set():
                        break
        except ValueError as invalid:
            inbox.append(error(str(invalid)))
        except Exception:
            _log.exception("a decode failed")
            inbox.append(error("the decode failed: the server's log has the cause"))
        finally:
            sys.setswitchinterval(before)
            inbox.append(None)
            wake()


def load_worker(options: dict[str, Any]) -> Worker:
    """Load an engine (arguments of :func:`hsd_viz.engine.local.load_engine`) that is ready for its first request."""
    from hsd_viz.engine.local import load_engine

    engine = load_engine(**options, allow_models=False)
    engine.run("def", max_new_tokens=1)
    engine.wait_ready()
    return Worker(engine)
