"""The web application: ``POST /decode`` streams events; ``GET /models``, ``/health`` and ``/metrics``.

It knows nothing of Ray: it passes requests to :class:`~hsd_viz.serve.worker.Decoders`. Visitors are strangers: bodies,
prompts, lengths and models are limited; a model is a name on the list, never a path or hub id.
"""

import hmac
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.middleware.trustedhost import TrustedHostMiddleware

from hsd_viz.engine import DEFAULTS
from hsd_viz.machine import url
from hsd_viz.serve.queue import FairQueue, QueueFullError, Ticket
from hsd_viz.serve.worker import Decoders, error, load_worker
from hsd_viz.stack import StackError, parse

#: The longest accepted request body, in bytes.
BODY_BYTES = 1 << 20
#: Seconds after which a refused client may ask again.
RETRY_SECONDS = 5


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
    rule: str | dict[str, str] = DEFAULTS["rule"]
    record: bool = True
    chat: bool = False


class _Figures:
    """The figures of ``/metrics``."""

    def __init__(self, queue: FairQueue) -> None:
        self.registry = CollectorRegistry()
        names: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("hsd_viz_requests", "decode requests by outcome", ["outcome"], **names)
        self.tokens = Counter("hsd_viz_tokens", "emitted tokens", **names)
        self.waited = Histogram("hsd_viz_queue_seconds", "seconds in the queue", **names)
        self.first = Histogram("hsd_viz_first_token_seconds", "seconds from the request to its first tokens", **names)
        self.seconds = Histogram("hsd_viz_decode_seconds", "seconds from the turn to the end of a decode", **names)
        Gauge("hsd_viz_queue_length", "waiting requests", **names).set_function(lambda: len(queue))
        Gauge("hsd_viz_running", "running decodes", **names).set_function(lambda: queue.running)


class Service:
    """Checks requests, lets them wait for their turn, and streams what the decoders yield."""

    def __init__(self, decoders: Decoders, settings: Settings) -> None:
        self.settings, self.decoders = settings, decoders
        self.queue = FairQueue(settings.slots, settings.queue, settings.per_visitor)
        self.figures = _Figures(self.queue)
        #: Idempotency key -> the stream that has it.
        self._keys: dict[str, Stream] = {}

    def check(self, body: bytes) -> dict[str, Any]:
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

    def open(self, request: dict[str, Any], visitor: str, key: str | None) -> "Stream":
        """Take a place in the queue for a checked request; an earlier one with this idempotency key ends. Raises:
        QueueFullError: if there is none.
        """
        stream = Stream(self, request, self.queue.join(visitor), key)
        if key is not None:
            if key in self._keys:
                self._keys[key].replaced = True
            self._keys[key] = stream
        return stream

    def close(self, stream: "Stream") -> None:
        """Free the place of a stream; called once."""
        self.queue.leave(stream.ticket)
        if stream.key is not None and self._keys.get(stream.key) is stream:
            del self._keys[stream.key]
        self.figures.requests.labels(stream.outcome).inc()


class Stream(StreamingResponse):
    """The answer to one request: its lines. The place in the queue is freed however the connection ends."""

    def __init__(self, service: Service, request: dict[str, Any], ticket: Ticket, key: str | None) -> None:
        super().__init__(self._lines(), media_type="application/x-ndjson", headers={"Cache-Control": "no-store"})
        self._service, self._request = service, request
        self.ticket, self.key = ticket, key
        self.outcome = "cancelled"
        #: Whether the same request was sent again.
        self.replaced = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.close(self)

    async def _lines(self) -> AsyncIterator[bytes]:
        figures, begun, silent = self._service.figures, time.monotonic(), True
        async for position in self.ticket.positions():
            yield _line({"event": "queued", "position": position})
            if self.replaced:
                return
        turn = time.monotonic()
        figures.waited.observe(turn - begun)
        async for batch in self._limited():
            for record in batch:
                if record["event"] == "step":
                    if silent:
                        figures.first.observe(time.monotonic() - begun)
                    silent = False
                    figures.tokens.inc(len(record["tokens"]["token_id"]))
                elif record["event"] in ("finished", "error"):
                    self.outcome = record["event"]
            yield b"".join(map(_line, batch))
        figures.seconds.observe(time.monotonic() - turn)

    async def _limited(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the batches of the decode until it ends, takes too long, or is replaced by a repetition."""
        seconds = self._service.settings.seconds
        until = time.monotonic() + seconds
        batches = self._service.decoders.decode(self._request)
        try:
            async for batch in batches:
                yield batch
                if self.replaced:
                    yield [error("the same request was sent again: this connection is closed")]
                    return
                if time.monotonic() > until:
                    yield [error(f"the decode was stopped after {seconds:g} s: request fewer tokens")]
                    return
        finally:
            await batches.aclose()  # type: ignore[attr-defined]


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
        return PlainTextResponse(generate_latest(service.figures.registry))

    @app.post("/decode", dependencies=guarded)
    async def decode(request: Request, body: Annotated[bytes, Depends(_body)]) -> StreamingResponse:
        try:
            arguments = service.check(body)
        except ValueError as invalid:
            raise HTTPException(422, str(invalid)) from None
        visitor = f"{request.client.host if request.client else ''} {request.headers.get('x-visitor', '')[:64]}"
        key = request.headers.get("idempotency-key")
        try:
            return service.open(arguments, visitor, key and f"{visitor} {key[:64]}")
        except QueueFullError as full:
            service.figures.requests.labels("refused").inc()
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


def _line(record: dict[str, Any]) -> bytes:
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
