"""Doors of servers: requests of HTTP, and messages of a page to its kernel."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
import time
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError
from tools.attack.damage import damaged_bytes, damaged_data, damaged_json
from tools.attack.door import Door
from tools.attack.traffic_doors import _trace

_JSON_TYPES = ("application/json", "APPLICATION/JSON")


def http_requests(folder: Path) -> Door:
    """Bytes to the server of `hsd-viz serve`."""
    import uvicorn

    from hsd_viz.serve import connections
    from hsd_viz.serve.app import configure, create_app
    from hsd_viz.serve.settings import ServerSettings

    # Half a request ends soon.
    connections.HEADER_SECONDS = connections.BODY_SECONDS = 1.0
    faults: list[str] = []

    async def decode(request: dict) -> Any:
        yield [{"event": "finished", "meta": {}}]

    settings = ServerSettings(token="secret", hosts=("*",))
    server = uvicorn.Server(configure(create_app(decode, settings), "127.0.0.1", 0, settings))
    threading.Thread(target=server.run, daemon=True).start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    import logging

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            faults.append(record.getMessage()[-2000:])

    logging.getLogger("uvicorn.error").addHandler(Listening())
    body = {
        "prompt": "x",
        "stack": "db > target",
        "max_new_tokens": 4,
        "temperature": 0.5,
        "seed": 1,
    }
    methods = (*("POST",) * 9, "GET", "PUT", "X" * 9)
    paths = (
        *("/decode",) * 40,
        "/models",
        "/metrics",
        "/",
        "/openapi.json",
        "/health",
        "/../x",
        "/%00",
        "*",
    )

    def make(chance: random.Random) -> bytes:
        content = damaged_json(body, chance)
        if chance.random() < 0.2:
            content = json.dumps(body).encode()
        token = chance.choice((*("secret",) * 9, "x", "\xe9", ""))
        lines = [
            f"{chance.choice(methods)} {chance.choice(paths)} HTTP/1.1",
            f"Host: {chance.choice(('127.0.0.1', '127.0.0.1', 'evil.example', '', 'a' * 500))}",
            f"Authorization: Bearer {token}",
            f"Content-Type: {chance.choice((*_JSON_TYPES * 4, 'text/plain'))}",
            f"Content-Length: {len(content) + chance.choice((0, 0, 0, 0, 0, 0, 0, 5, -1))}",
            f"X-Other: {chance.choice(('', 'x' * 9000, 'a: b'))}",
            "Connection: close",
        ]
        sent = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content
        return damaged_bytes(sent, chance) if chance.random() < 0.3 else sent

    def attempt(content: bytes) -> None:
        faults.clear()
        with socket.create_connection(address[:2], timeout=5) as peer:
            peer.sendall(content)
            answer = b""
            with contextlib.suppress(OSError):
                while part := peer.recv(2**16):
                    answer += part
        if faults or b" 500 " in answer[:20]:
            raise RuntimeError(faults[-1] if faults else "status 500")
        if not answer.startswith(b"HTTP/1.1 2"):
            raise UserError(answer.partition(b"\r\n")[0].decode("latin-1"))

    return Door(make, attempt)


def page_messages(folder: Path) -> Door:
    """Messages of a browser to its kernel."""
    from hsd_viz.views.app.dashboard import App
    from hsd_viz.views.app.messages import KINDS
    from hsd_viz.views.run_data import snapshot

    class Page(App):
        def __init__(self) -> None:
            self.sent: list[dict] = []
            super().__init__()

        def send(self, content: Any, buffers: Any = None) -> None:
            json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
            self.sent.append(content)

    page = Page()
    trace = _trace()
    stored_run = snapshot(trace, "kept")
    page._runs.keep(trace, "kept")
    log = b'{"prompt_ids": [1, 2], "output_ids": [3, 4]}\n'
    request = {"prompt": "x", "stack": "db > target", "max_new_tokens": 2, "temperature": 0.5}
    asking = {"kind": "ask", "run": "kept", "options": {"tokenizer": "own", "drafters": "lookup"}}
    whole = [
        {"kind": "decode", "request": request | {"seed": 1, "rule": "token", "top_k": 3}},
        {"kind": "take", "snapshot": stored_run},
        {"kind": "open", "names": ["run.json"]},
        {"kind": "recording", "name": "sampled"},
        {"kind": "knows", "run": "kept"},
        *({"kind": "file", "run": "kept", "about": about} for about in ("trace", "page")),
        {"kind": "file", "about": "comparison", "options": {"runs": [stored_run, stored_run]}},
        *(asking | {"about": about} for about in ("doctor", "law", "report", "predict")),
        asking | {"about": "replay", "names": ["a.jsonl", "tokenizer.json"]},
        {
            "kind": "ask",
            "about": "predict",
            "options": {"gpu": "H100", "tp": "4", "weights": "fp8"},
        },
    ]

    def make(chance: random.Random) -> bytes:
        data = chance.choice(whole)
        message = damaged_data(data, chance)
        if not isinstance(message, dict):
            message = {"kind": chance.choice(KINDS), "options": message}
        return json.dumps(message).encode()

    def attempt(content: bytes) -> None:
        page.sent.clear()
        message = json.loads(content)
        page._on_message(None, {**message, "id": "1"}, [log, b"{}"])
        until = time.monotonic() + 60
        while page._cancels:
            if time.monotonic() > until:
                raise RuntimeError("no answer within a minute")
            time.sleep(0.001)
        last = page.sent[-1] if page.sent else {"kind": "none"}
        if last["kind"] == "failed" and "fault of hsd-viz" not in last["message"]:
            raise UserError(last["message"])
        if last["kind"] != "done":
            raise RuntimeError(str(last)[:300])

    return Door(make, attempt)
