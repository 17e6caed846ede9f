"""The web application: ``POST /decode`` streams events; ``GET /`` is a page that decodes here;
``GET /models``, ``/health`` and ``/metrics``.

It knows nothing of Ray: requests go to a function that decodes. Visitors are strangers: bodies,
prompts, lengths and models are limited; a model is a name on the list, never a path or hub id.
"""

import asyncio
import base64
import hashlib
import json
import logging
import re
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import ConfigDict, Field, ValidationError, create_model
from starlette.requests import ClientDisconnect

from hsd_viz.decoding.engine import DecodeCall, Engine
from hsd_viz.engine.access import model_outside
from hsd_viz.engine.live import batches
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError, visitor_message
from hsd_viz.machine import url
from hsd_viz.options import defaults, settings, types
from hsd_viz.serve import connections, guard
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.stack import StackError
from hsd_viz.trace.events import to_record
from hsd_viz.trace.tables import RULES

#: The longest accepted request body, in bytes, and the seconds after which a refused client may ask
#: again.
BODY_BYTES = 1 << 20
RETRY_SECONDS = 5
Record = dict[str, Any]
#: Yields the events of a request in batches; closing the generator cancels the decode.
Decode = Callable[[Record], AsyncGenerator[list[Record]]]
#: Headers of the page besides the hash of its script: nothing else runs, and it connects only to
#: its server.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; connect-src 'self'; "
)
_POLICY += "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src "
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.S)


def error(message: str, *, retry: bool = False) -> Record:
    """Return the record that ends a decode with an error."""
    return {"event": "error", "message": message, "retry": retry}


def decode_with(engine: Engine) -> Decode:
    """Return the function that decodes requests (arguments of :meth:`hsd_viz.engine.Engine.decode`)
    with an engine.
    """

    async def decode(request: Record) -> AsyncGenerator[list[Record]]:
        options: Any = dict(request)
        call = DecodeCall(options.pop("prompt", ""), options.pop("stack", "target"), options)
        cancelled = threading.Event()
        running = batches(lambda: call.events(engine), cancelled)
        try:
            while (events := await asyncio.to_thread(next, running, None)) is not None:
                yield [to_record(event) for event in events]
        except UserError as invalid:
            yield [error(visitor_message(invalid, str(request)))]
        except Exception:
            logging.getLogger(__name__).exception("a decode failed")
            yield [error("the decode failed: the server's log has the cause")]
        finally:
            cancelled.set()

    return decode


def load_decode(options: EngineOptions) -> Decode:
    """Load an engine that is ready for its first request, and return what decodes with it."""
    from hsd_viz.engine.local import LocalEngine

    engine = LocalEngine.of(replace(options, allow_models=False))
    engine.run("def", max_new_tokens=1)
    engine.wait_ready()
    return decode_with(engine)


def _setting_fields() -> dict[str, Any]:
    """Return the fields of a request that are settings of a decode, with their ranges."""
    fields: dict[str, Any] = {}
    for name, setting in settings().items():
        # An operator's own limit of tokens is checked later.
        limits: dict[str, Any] = {}
        if setting.range is not None:
            limits["gt" if setting.range.above_low else "ge"] = setting.range.low
            if name != "max_new_tokens":
                limits["le"] = setting.range.high
        fields[name] = (types()[name], Field(defaults()[name], **limits))
    return fields


#: The settings of a decode as a model of pydantic: any, for a checker of types.
_Settings: Any = create_model("DecodeSettings", **_setting_fields())


class DecodeRequest(_Settings):
    """The body of ``POST /decode``: the arguments of :meth:`hsd_viz.engine.Engine.decode`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    prompt: str | list[int] | list[dict[str, str]]
    stack: str = Field("target", max_length=500)
    family: str | None = None
    record: bool = True
    chat: bool = False

    def checked(self, settings: ServerSettings) -> Record:
        """Return the arguments of a decode.

        Raises:
            UserError: if the request exceeds a limit.
        """
        if self.family not in (None, settings.family):
            raise UserError(
                f"family: this server decodes the family {settings.family}, not {self.family!r}"
            )
        length = _length(self.prompt)
        if length > settings.prompt_characters:
            raise UserError(
                f"prompt: {length} is too long, the limit is {settings.prompt_characters}"
            )
        if self.max_new_tokens > settings.new_tokens:
            raise UserError(
                f"max_new_tokens: {self.max_new_tokens} is above the limit of {settings.new_tokens}"
            )
        try:
            other = model_outside(self.stack, settings.models)
        except StackError as invalid:
            raise UserError(f"stack: {invalid}") from None
        if other is not None:
            raise UserError(
                f"stack: the model {other!r} is not offered here: use {', '.join(settings.models)}"
            )
        if self.rule not in RULES:
            raise UserError(
                f"rule: unknown verification rule '{self.rule}' (use {', '.join(RULES)})"
            )
        return self.model_dump(exclude={"family"})


def _length(prompt: str | list[int] | list[dict[str, str]]) -> int:
    """Return the characters or tokens of a prompt; of a conversation all characters."""
    length = len(prompt)
    for part in prompt:
        if isinstance(part, dict):
            length += sum(map(len, part.values()))
    return length


class Service:
    """The requests in their order, their events, and the counts of ``/metrics``."""

    def __init__(self, decode: Decode, settings: ServerSettings) -> None:
        self.decode = decode
        self.settings = settings
        self.registry = CollectorRegistry()
        #: The running requests come first. The event of one is set when its place changes.
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
        """Return the number of requests that wait for a slot."""
        return max(0, len(self.places) - self.settings.slots)

    def _running(self) -> int:
        """Return the number of decodes that run."""
        return len(self.places) - self._waiting()

    async def lines(self, request: Record, place: asyncio.Event) -> AsyncGenerator[bytes]:
        """Yield the lines of the answer: places in the queue, then the events."""
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
    """The answer to one request. Its place is freed however the connection ends.

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


#: Makes the page of a server.
Page = Callable[[ServerSettings], str]


# The routes are functions within it: each is simple.
def create_app(  # noqa: C901
    decode: Decode, settings: ServerSettings, page: Page | None = None
) -> FastAPI:
    """Return the application; ``page`` is called once, when the first visitor asks for it."""
    service = Service(decode, settings)
    making = asyncio.Lock()
    made: dict[str, Any] = {}

    def authorize(request: Request) -> None:
        guard.check_request(request, settings.token)

    # The routes that FastAPI makes by itself would not ask for the token.
    app = FastAPI(
        title="hsd_viz",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(authorize)],
    )
    guard.require_host(app, settings.hosts)

    @app.exception_handler(HTTPException)
    async def one_line(_: Request, failed: HTTPException) -> JSONResponse:
        return JSONResponse({"error": failed.detail}, failed.status_code, failed.headers)

    @app.get("/")
    async def shown() -> HTMLResponse:
        if page is None:
            raise HTTPException(501, "this server has no page: send requests to POST /decode")
        async with making:
            if not made:
                text = await asyncio.to_thread(page, settings)
                (script,) = _SCRIPT.findall(text)
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                policy = {"Content-Security-Policy": f"{_POLICY}'sha256-{digest}'"}
                made.update(content=text, headers=_HEADERS | policy)
        return HTMLResponse(made["content"], headers=made["headers"])

    @app.get("/openapi.json", include_in_schema=False)
    async def described() -> dict[str, Any]:
        return app.openapi()

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/models")
    async def models() -> dict[str, Any]:
        limits = {
            name: getattr(settings, name) for name in ("prompt_characters", "new_tokens", "seconds")
        }
        return {"family": settings.family, "models": settings.models, "limits": limits}

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        return PlainTextResponse(generate_latest(service.registry))

    @app.post("/decode", response_model=None)
    async def decoded(request: Request) -> Stream:
        guard.check_type(request)
        body = bytearray()
        try:
            async with asyncio.timeout(connections.BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > BODY_BYTES:
                        raise HTTPException(413, f"the body is larger than {BODY_BYTES} bytes")
        except ClientDisconnect:
            raise HTTPException(400, "the connection ended within the body") from None
        except TimeoutError:
            late = f"the body did not arrive within {connections.BODY_SECONDS:g} seconds"
            raise HTTPException(408, late, {"Connection": "close"}) from None
        try:
            return Stream(service, DecodeRequest.model_validate_json(bytes(body)).checked(settings))
        except ValidationError as invalid:
            first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
            raise HTTPException(
                422, f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}"
            ) from None
        except UserError as invalid:
            raise HTTPException(422, str(invalid)) from None

    return app


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def run(host: str, port: int, settings: ServerSettings, engine: EngineOptions, page: Page) -> int:
    """Serve with an engine in this process until Ctrl-C or SIGTERM; for ``page`` see
    :func:`create_app`.
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
        application = create_app(load_decode(engine), settings, page)
        Server(configure(application, host, port, settings)).run()
    return 0


def configure(application: FastAPI, host: str, port: int, settings: ServerSettings) -> Any:
    """Return uvicorn's configuration of a server, with the limits on its connections."""
    import uvicorn

    return uvicorn.Config(
        application,
        host,
        port,
        http=connections.limited(settings.slots + settings.queue),
        ws="none",
        log_level="error",
        access_log=False,
    )
