"""The web application of a server.

``POST /decode`` streams the events of a decode and ``GET /`` returns a page that sends such
requests. ``GET /models``, ``/health`` and ``/metrics`` describe the server.

The application does not depend on Ray: it passes requests to a function that decodes. This module
limits the size of a body and the time to send it; :mod:`hsd_viz.serve.requests` limits its
content.
"""

import asyncio
import base64
import hashlib
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from prometheus_client import generate_latest
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.machine import url
from hsd_viz.serve import connections, guard
from hsd_viz.serve.requests import Decode, DecodeRequest, Record, load_decode
from hsd_viz.serve.service import Service, Stream
from hsd_viz.serve.settings import ServerSettings

#: The longest accepted request body, in bytes.
BODY_BYTES = 1 << 20
#: The content security policy of the page, without the hash of its script. No other script runs,
#: and the page connects only to its server.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src "
)
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.S)

#: A function that returns the HTML page of a server.
Page = Callable[[ServerSettings], str]


def create_app(decode: Decode, settings: ServerSettings, page: Page | None = None) -> FastAPI:
    """Return the application; ``page`` is called once, at the first request for the page."""
    service = Service(decode, settings)
    served_page = None if page is None else _ServedPage(page, settings)

    def authorize(request: Request) -> None:
        guard.check_request(request, settings.token)

    # The documentation routes that FastAPI adds would not check the token.
    app = FastAPI(
        title="hsd_viz",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(authorize)],
    )
    guard.require_host(app, settings.hosts)
    app.add_exception_handler(HTTPException, _in_one_line)

    @app.get("/")
    async def shown() -> HTMLResponse:
        if served_page is None:
            raise HTTPException(501, "this server has no page: send requests to POST /decode")
        return await served_page.response()

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
        body = await _read_body(request)
        return Stream(service, _checked_request(body, settings))

    return app


class _ServedPage:
    """The page of a server, which is made at its first request."""

    def __init__(self, page: Page, settings: ServerSettings) -> None:
        self._page = page
        self._settings = settings
        self._making = asyncio.Lock()
        self._text = ""
        self._headers: dict[str, str] = {}

    async def response(self) -> HTMLResponse:
        """Return the page, whose script alone may run."""
        async with self._making:
            if not self._text:
                text = await asyncio.to_thread(self._page, self._settings)
                (script,) = _SCRIPT.findall(text)
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                policy = {"Content-Security-Policy": f"{_POLICY}'sha256-{digest}'"}
                self._headers = _HEADERS | policy
                self._text = text
        return HTMLResponse(self._text, headers=self._headers)


async def _in_one_line(_: Request, failed: Exception) -> JSONResponse:
    """Return the response of a request that failed: its error, in a line."""
    assert isinstance(failed, HTTPException)
    return JSONResponse({"error": failed.detail}, failed.status_code, failed.headers)


async def _read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: if it is too large, too late, or not whole.
    """
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
    return bytes(body)


def _checked_request(body: bytes, settings: ServerSettings) -> Record:
    """Return the arguments of the decode that a body asks for.

    Raises:
        HTTPException: if it is invalid.
    """
    try:
        return DecodeRequest.model_validate_json(body).checked(settings)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise HTTPException(422, f"{place}: {first['msg']}") from None
    except UserError as invalid:
        raise HTTPException(422, str(invalid)) from None


def run(host: str, port: int, settings: ServerSettings, engine: EngineOptions, page: Page) -> int:
    """Serve with an engine in this process until Ctrl-C or SIGTERM.

    See :func:`create_app` for ``page``.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                print(f"engine: {url(host, port)} (Ctrl-C to stop)", flush=True)

    # uvicorn stops at the first signal and raises it again. Without this handler, SIGTERM would
    # end the process with an error status.
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
