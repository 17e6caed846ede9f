"""Turns on the server of a class: a page needs a kernel, which takes seconds of a core to start.

A visitor who comes while no warm kernel is ready gets a recorded run at once, with a place in the queue above it; the
live page replaces it when it is the visitor's turn. Imported only by Voilà's process.
"""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path
from typing import Any

import tornado.web
from jupyter_server.base.handlers import JupyterHandler
from voila.tornado.handler import TornadoVoilaHandler

COOKIE = "hsd-viz-turn"
#: Seconds after which a visitor who no longer asks for the place has left.
LOST = 15.0
_WAITING = Path(__file__).with_name("waiting.html").read_text(encoding="utf-8")


class Turns:
    """The visitors who wait, in the order in which they came."""

    def __init__(self) -> None:
        #: Ticket -> when its visitor last asked.
        self._asked: dict[str, float] = {}

    def place(self, ticket: str, ready: int, now: float | None = None) -> int:
        """Return the place in the queue where ``ready`` kernels are warm; 0 means that it is this visitor's turn."""
        now = time.monotonic() if now is None else now
        self._asked[ticket] = now
        self._asked = {one: asked for one, asked in self._asked.items() if now - asked < LOST}
        return max(0, list(self._asked).index(ticket) + 1 - ready)

    def leave(self, ticket: str) -> None:
        """Take a visitor who was served out of the queue."""
        self._asked.pop(ticket, None)


class Page(TornadoVoilaHandler):
    """The live page, or a recorded run until a kernel is ready."""

    @tornado.web.authenticated
    async def get(self, path: str | None = None) -> None:
        turns: Turns = self.settings["turns"]
        ticket = self.get_cookie(COOKIE) or secrets.token_urlsafe(12)
        place = 0 if path else turns.place(ticket, self.kernel_manager.ready())
        if place:
            self.set_cookie(COOKIE, ticket, httponly=True, samesite="Strict")
            self.set_header("Cache-Control", "no-store")
            self.finish(_WAITING.replace("PLACE", str(place)))
            return
        if not path:
            turns.leave(ticket)
            self.clear_cookie(COOKIE)
        await super().get(path)


class Place(JupyterHandler):
    """A visitor's place in the queue."""

    @tornado.web.authenticated
    def get(self) -> None:
        ticket, manager = self.get_cookie(COOKIE), self.kernel_manager
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps({"place": self.settings["turns"].place(ticket, manager.ready()) if ticket else 0}))


class Recorded(JupyterHandler):
    """The page of a recorded run, a gzipped file."""

    def initialize(self, file: str) -> None:
        self.file = Path(file)

    @tornado.web.authenticated
    def get(self) -> None:
        self.set_header("Content-Encoding", "gzip")
        self.set_header("Cache-Control", "private, max-age=3600")
        self.finish(self.file.read_bytes())


def with_turns(handlers: list[Any], url: Any, recorded: str) -> list[Any]:
    """Return Voilà's handlers with these instead of its page; ``url`` makes a path of the server."""
    page = [(h[0], Page, *h[2:]) if h[1] is TornadoVoilaHandler else h for h in handlers]
    return [(url("place"), Place), (url("recorded"), Recorded, {"file": recorded}), *page]
