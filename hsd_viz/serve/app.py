"""The web application: ``POST /decode`` streams events; ``GET /models``, ``/health`` and ``/metrics``.

It knows nothing of Ray: it passes requests to :class:`Decoders`. Visitors are strangers: bodies, prompts, lengths and
models are limited; a model is a name on the list, never a path or hub id.
"""

import asyncio
import hmac
import json
import logging
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Protocol

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.middleware.trustedhost import TrustedHostMiddleware

from hsd_viz.engine import DEFAULTS, Engine
from hsd_viz.engine.live import batches
from hsd_viz.machine import url
from hsd_viz.serve.queue import FairQueue, QueueFullError, Ticket
from hsd_viz.stack import StackError, parse
from hsd_viz.trace.events import to_record

#: The longest accepted request body, in bytes.
BODY_BYTES = 1 << 20
#: Seconds after which a refused client may ask again.
RETRY_SECONDS = 5
_log = logging.getLogger(__name__)
Record = dict[str, Any]


# --- what decodes -----------------------------------------------------------------------------------------------------


class Decoders(Protocol):
    """What decodes for the web application: a worker in this process, or a deployment of workers."""

    def decode(self, request: Record) -> AsyncIterator[list[Record]]:
        """Yield the events of a request in batches of records; closing the iterator cancels the decode."""


class Worker:
    """Decodes one request at a time with an engine of this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle = threading.Event()
        self._idle.set()

    async def decode(self, request: Record) -> AsyncIterator[list[Record]]:
        """Yield the events of ``request`` (the arguments of :meth:`hsd_viz.engine.Engine.decode`) in batches."""
        # A cancelled decode ends after its current event.
        await asyncio.to_thread(self._idle.wait)
        self._idle.clear()
        loop, inbox = asyncio.get_running_loop(), asyncio.Queue[list[Record] | None]()
        cancelled = threading.Event()
        put = lambda records: loop.call_soon_threadsafe(inbox.put_nowait, records)
        threading.Thread(target=self._work, args=(request, cancelled, put), daemon=True).start()
        try:
            while (records := await inbox.get()) is not None:
                yield records
        finally:
            cancelled.set()

    def _work(self, request: Record, cancelled: threading.Event, put: Any) -> None:
        try:
            for events in batches(lambda: self._engine.decode(**request), cancelled):
                put([to_record(event) for event in events])
        except ValueError as invalid:
            put([error(str(invalid))])
        except Exception:
            _log.exception("a decode failed")
            put([error("the decode failed: the server's log has the cause")])
        finally:
            self._idle.set()
            with suppress(RuntimeError):  # the server has ended
                put(None)


def error(message: str, *, retry: bool = False) -> Record:
    """Return the record that ends a decode with an error."""
    return {"event": "error", "message": message, "retry": retry}


def load_worker(options: Record) -> Worker:
    """Load an engine (arguments of :func:`hsd_viz.engine.local.load_engine`) that is ready for its first request."""
    from hsd_viz.engine.local import load_engine

    engine = load_engine(**options, allow_models=False)
    engine.run("def", max_new_tokens=1)
    engine.wait_ready()
    return Worker(engine)


# --- requests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settings:
    """What visitors may do. ``models`` are the allowed names; ``token`` is required from all if set. ``hosts`` are the
    accepted Host headers (``*``: any); ``slots`` decodes run at a time, ``queue`` requests wait, at most
    ``per_visitor`` of each visitor; a decode may take ``seconds``.
    """

    models: tuple[str, ...] = ("nano", "small", "target")
    slots: int = 1
    queue: int = 64
    per_visitor: int = 8
    prompt_characters: int = 20_000
    new_tokens: int = 1024
    seconds: float = 300.0
    token: str | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")


class DecodeRequest(BaseModel):
    """The body of ``POST /decode``: the arguments of :meth:`hsd_viz.engine.Engine.decode`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    prompt: str | list[int]
    stack: str = Field("target", max_length=500)
    max_new_tokens: int = Field(128, ge=1)
    temperature: float = Field(0.0, ge=0, le=100)
    top_k: int = Field(0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    seed: int = Field(0, ge=0, lt=2**63)
    rule: str = DEFAULTS["rule"]
    record: bool = True
    chat: bool = False


class Service:
    """Checks requests, lets them wait for their turn, streams what the decoders yield, and counts for ``/metrics``."""

    def __init__(self, decoders: Decoders, settings: Settings) -> None:
        self.settings, self.decoders, self.registry = settings, decoders, CollectorRegistry()
        self.queue = queue = FairQueue(settings.slots, settings.queue, settings.per_visitor)
        names: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("hsd_viz_requests", "decode requests by outcome", ["outcome"], **names)
        self.tokens = Counter("hsd_viz_tokens", "emitted tokens", **names)
        self.waited = Histogram("hsd_viz_queue_seconds", "seconds in the queue", **names)
        self.first = Histogram("hsd_viz_first_token_seconds", "seconds from the request to its first tokens", **names)
        self.seconds = Histogram("hsd_viz_decode_seconds", "seconds from the turn to the end of a decode", **names)
        Gauge("hsd_viz_queue_length", "waiting requests", **names).set_function(lambda: len(queue))
        Gauge("hsd_viz_running", "running decodes", **names).set_function(lambda: queue.running)

    def check(self, body: bytes) -> Record:
        """Return the arguments of a decode. Raises: ValueError: if the body is not a valid request or exceeds a
        limit.
        """
        try:
            request = DecodeRequest.model_validate_json(body)
            stack = parse(request.stack)
        except ValidationError as invalid:
            first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
            raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}") from None
        except StackError as invalid:
            raise ValueError(f"stack: {invalid}") from None
        settings = self.settings
        if len(request.prompt) > settings.prompt_characters:
            raise ValueError(f"prompt: {len(request.prompt)} is too long, the limit is {settings.prompt_characters}")
        if request.max_new_tokens > settings.new_tokens:
            raise ValueError(f"max_new_tokens: {request.max_new_tokens} is above the limit of {settings.new_tokens}")
        for model in stack.models:
            if model.name not in settings.models:
                allowed = ", ".join(settings.models)
                raise ValueError(f"stack: the model {model.name!r} is not offered here: use {allowed}")
        return request.model_dump()


class Stream(StreamingResponse):
    """The answer to one request: its lines. The place in the queue is freed however the connection ends."""

    def __init__(self, service: Service, request: Record, ticket: Ticket) -> None:
        super().__init__(self._lines(), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})
        self._service, self._request, self._ticket = service, request, ticket
        self.outcome = "cancelled"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.queue.leave(self._ticket)
            self._service.requests.labels(self.outcome).inc()

    async def _lines(self) -> AsyncIterator[bytes]:
        service, seconds, begun, silent = self._service, self._service.settings.seconds, time.monotonic(), True
        async for position in self._ticket.positions():
            yield _line({"event": "queued", "position": position})
        turn = time.monotonic()
        service.waited.observe(turn - begun)
        found = service.decoders.decode(self._request)
        try:
            async for records in found:
                if time.monotonic() - turn > seconds and records[-1]["event"] != "finished":
                    records.append(error(f"the decode was stopped after {seconds:g} s: request fewer tokens"))
                for record in records:
                    if record["event"] == "step":
                        if silent:
                            service.first.observe(time.monotonic() - begun)
                        silent = False
                        service.tokens.inc(len(record["tokens"]["token_id"]))
                    elif record["event"] in ("finished", "error"):
                        self.outcome = record["event"]
                yield b"".join(map(_line, records))
                if self.outcome == "error":
                    break
        finally:
            await found.aclose()  # type: ignore[attr-defined]
        service.seconds.observe(time.monotonic() - turn)


def create_app(decoders: Decoders, settings: Settings) -> FastAPI:
    """Return the application."""
    service = Service(decoders, settings)
    app = FastAPI(title="hsd_viz", docs_url=None, redoc_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts), www_redirect=False)

    def authorized(request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if settings.token is not None and not hmac.compare_digest(given.encode(), settings.token.encode()):
            raise HTTPException(401, "a valid token is required", {"WWW-Authenticate": "Bearer"})
        if "origin" in request.headers:
            # A page of another site: browsers add the header, our clients do not.
            raise HTTPException(403, "requests of web pages are not accepted")

    guarded = [Depends(authorized)]

    @app.exception_handler(HTTPException)
    async def one_line(_: Request, failed: HTTPException) -> JSONResponse:
        return JSONResponse({"error": failed.detail}, failed.status_code, failed.headers)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/models", dependencies=guarded)
    async def models() -> dict[str, Any]:
        limits = {k: v for k, v in asdict(settings).items() if k in ("prompt_characters", "new_tokens", "seconds")}
        return {"models": list(settings.models), "limits": limits}

    @app.get("/metrics", dependencies=guarded)
    async def metrics() -> PlainTextResponse:
        return PlainTextResponse(generate_latest(service.registry))

    @app.post("/decode", dependencies=guarded)
    async def decode(request: Request, body: Annotated[bytes, Depends(_body)]) -> StreamingResponse:
        try:
            arguments = service.check(body)
        except ValueError as invalid:
            raise HTTPException(422, str(invalid)) from None
        visitor = f"{request.client.host if request.client else ''} {request.headers.get('x-visitor', '')[:64]}"
        try:
            return Stream(service, arguments, service.queue.join(visitor))
        except QueueFullError as full:
            service.requests.labels("refused").inc()
            raise HTTPException(503, str(full), {"Retry-After": str(RETRY_SECONDS)}) from None

    return app


async def _body(request: Request) -> bytes:
    """Read a JSON body of limited size. Other types are refused: a form of a web page cannot send this one."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the body must be application/json")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            raise HTTPException(413, f"the body is larger than {BODY_BYTES} bytes")
    return bytes(body)


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def run(host: str, port: int, settings: dict[str, Any], engine: dict[str, Any]) -> int:
    """Serve with an engine in this process until Ctrl-C or SIGTERM. ``settings`` are fields of :class:`Settings`,
    ``engine`` arguments of :func:`hsd_viz.engine.local.load_engine`.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                print(f"engine: {url(host, port)} (Ctrl-C to stop)", flush=True)

    # uvicorn ends at the first signal, then raises it again: SIGTERM would count as a failure.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        print("loading the models", file=sys.stderr, flush=True)
        application = create_app(load_worker(engine), Settings(**settings))
        Server(uvicorn.Config(application, host, port, log_level="error", access_log=False)).run()
    return 0
