"""A service on a free port of this machine, decoders that never end, and one request."""

import asyncio
import json
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from hsd_viz.serve.app import configure, create_app
from hsd_viz.serve.settings import ServerSettings
from tests.patience import PATIENCE


@contextmanager
def serving(decode, page=None, *, settings: ServerSettings | None = None):
    """Serve on a free port of this machine; yields the address."""
    accepted = settings or ServerSettings()
    config = configure(create_app(decode, accepted, page), "127.0.0.1", 0, accepted)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def post(address, body, *, kind="application/json", origin=None):
    """Send one request; return status, headers and the parsed JSON lines."""
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": kind}
    if origin is not None:
        headers["Origin"] = origin
    response = httpx.post(f"{address}/decode", content=payload, headers=headers, timeout=120)
    return (
        response.status_code,
        response.headers,
        list(map(json.loads, response.text.splitlines())),
    )


class Slow:
    """Decoders that yield until they are closed, and remember that they were."""

    def __init__(self):
        self.closed = threading.Event()

    async def decode(self, request):
        try:
            for _ in range(3000):
                yield [{"event": "stage", "text": request["prompt"], "done": None, "total": None}]
                await asyncio.sleep(0.01)
        finally:
            self.closed.set()
