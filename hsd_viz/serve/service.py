"""The request queue of a server, the streams of events, and the counters of ``/metrics``."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import HTTPException
from fastapi.responses import StreamingResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from hsd_viz.serve.requests import Decode, Record, error
from hsd_viz.serve.settings import ServerSettings

#: Seconds after which a refused client may retry.
RETRY_SECONDS = 5


class Service:
    """The request queue, the streams of events, and the counters of ``/metrics``."""

    def __init__(self, decode: Decode, settings: ServerSettings) -> None:
        self.decode = decode
        self.settings = settings
        self.registry = CollectorRegistry()
        #: One event per request, running requests first; set when the request's position changes.
        self.places: list[asyncio.Event] = []
        registry = self.registry
        self.requests = Counter(
            "hsd_viz_requests", "decode requests by outcome", ["outcome"], registry=registry
        )
        self.tokens = Counter("hsd_viz_tokens", "emitted tokens", registry=registry)
        self.waited = Histogram("hsd_viz_queue_seconds", "seconds in the queue", registry=registry)
        self.seconds = Histogram(
            "hsd_viz_decode_seconds",
            "seconds from the turn to the end of a decode",
            registry=registry,
        )
        waiting = Gauge("hsd_viz_queue_length", "waiting requests", registry=registry)
        waiting.set_function(self._waiting)
        running = Gauge("hsd_viz_running", "running decodes", registry=registry)
        running.set_function(self._running)

    def _waiting(self) -> int:
        """Return the number of requests waiting for a slot."""
        return max(0, len(self.places) - self.settings.slots)

    def _running(self) -> int:
        """Return the number of running decodes."""
        return len(self.places) - self._waiting()

    async def lines(self, request: Record, place: asyncio.Event) -> AsyncGenerator[bytes]:
        """Yield the lines of the response: positions in the queue, then the events."""
        begun = time.monotonic()
        seconds = self.settings.seconds
        outcome = "cancelled"
        try:
            while (position := self.places.index(place) + 1 - self.settings.slots) > 0:
                yield _line({"event": "queued", "position": position})
                await place.wait()  # it may have changed while the line was sent
                place.clear()
            turn = time.monotonic()
            self.waited.observe(turn - begun)
            async with aclosing(self.decode(request)) as running:
                async for records in running:
                    if time.monotonic() - turn > seconds and records[-1]["event"] != "finished":
                        records.append(
                            error(
                                f"the decode was stopped after {seconds:g} s: request fewer tokens"
                            )
                        )
                    steps = (
                        record["tokens"]["token_id"]
                        for record in records
                        if record["event"] == "step"
                    )
                    self.tokens.inc(sum(map(len, steps)))
                    yield b"".join(map(_line, records))
                    if (last := records[-1]["event"]) in ("finished", "error"):
                        outcome = last
                        break
            self.seconds.observe(time.monotonic() - turn)
        finally:
            self.requests.labels(outcome).inc()


class Stream(StreamingResponse):
    """The response to one request; its place in the queue is freed however the connection ends.

    Raises:
        HTTPException: 503, if the queue is full.
    """

    def __init__(self, service: Service, request: Record) -> None:
        self._places = service.places
        settings = service.settings
        if len(self._places) >= settings.slots + settings.queue:
            service.requests.labels("refused").inc()
            full = f"the queue is full: {settings.queue} requests are waiting"
            raise HTTPException(503, full, {"Retry-After": str(RETRY_SECONDS)})
        self._places.append(place := asyncio.Event())
        self._place = place
        headers = {"Cache-Control": "no-store"}
        super().__init__(service.lines(request, place), 200, headers, "application/x-ndjson")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            at = self._places.index(self._place)
            del self._places[at]
            for behind in self._places[at:]:
                behind.set()


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
