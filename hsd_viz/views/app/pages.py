"""Voilà hardened against misuse by strangers; :func:`hsd_viz.views.app.server.command` runs it as
``python -m hsd_viz.views.app``.

A page needs a kernel, whose start takes a core several seconds. On the server of a class, a visitor
who arrives while no warm kernel is ready gets a recorded run at once, with the place in the queue
above it; later the live page replaces it. A page belongs to its visitor: a reload returns the same
page of the same kernel.

By default, Voilà sends a visitor's query to anyone who requests it by kernel, and runs out of
memory when a socket of the former protocol gets a message with buffers.
:mod:`hsd_viz.views.app.guard` has the refused requests and the protection of the token.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import nbformat
import tornado.ioloop
import tornado.web
from jupyter_core.utils import ensure_async
from jupyter_server import DEFAULT_STATIC_FILES_PATH
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from jupyter_server.utils import url_path_join
from traitlets import Unicode, default
from voila.app import Voila
from voila.request_info_handler import RequestInfoSocketHandler
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from hsd_viz.views.app.guard import (
    Identity,
    accepts_any_host,
    forget_token,
    hide,
    refuse_other_sites,
)

if TYPE_CHECKING:
    from hsd_viz.views.app.kernels import PageKernels

COOKIE = "hsd-viz-turn"
#: Milliseconds between two checks for abandoned pages.
RELEASE_EVERY = 1000
_KERNEL = re.compile(r'"kernelId": "([^"]+)"')
#: Seconds without a request after which a waiting visitor counts as gone.
LOST = 15.0
#: Seconds for a client to send the headers, and again for the body, of a request.
REQUEST_SECONDS = 60
#: Milliseconds between two checks for faults of kernels.
FAULTS_EVERY = 1000
_WAITING = Path(__file__).with_name("waiting.html").read_text(encoding="utf-8")


class Socket(VoilaKernelWebsocketHandler):
    """A kernel's socket that protects Voilà against messages of the former protocol.

    Voilà reads the header of every binary message according to the present protocol. In a message
    of the former one, which clients may choose, it would read a list of up to 2**64 numbers.
    """

    def get_websocket_protocol(self) -> Any:
        """Return the protocol without tornado's pings: tornado would interpret Jupyter's
        milliseconds as seconds, and warn.
        """
        protocol = super().get_websocket_protocol()
        if protocol is not None:
            protocol.params.ping_interval = protocol.params.ping_timeout = None
        return protocol

    def write_message(self, message: Any, binary: bool = False) -> Any:
        """Send a message to the visitor."""
        if isinstance(message, bytes) and self.selected_subprotocol is None:
            return KernelWebsocketHandler.write_message(self, message, binary)
        return super().write_message(message, binary)


class Closing(VoilaShutdownKernelHandler):
    """Handler of the beacon with which a closing page ends its kernel.

    A beacon cannot carry the token against forgery, so its origin must be this server.
    """

    def check_xsrf_cookie(self) -> None:
        """Refuse a message from a page of another site."""
        refuse_other_sites(self.request)

    @tornado.web.authenticated
    async def post(self, kernel_id: str) -> None:
        """Shut down the kernel unless it has ended; if visitors take turns, after a moment."""
        if self.settings["recorded"]:
            self.kernel_manager.close(kernel_id)
        elif kernel_id in self.kernel_manager:
            await ensure_async(self.kernel_manager.shutdown_kernel(kernel_id))
        self.set_status(204)
        self.finish()


class Turns:
    """The queue of waiting visitors."""

    def __init__(self) -> None:
        #: Time of the last request of each visitor, by ticket.
        self._last_requests: dict[str, float] = {}

    def place(self, ticket: str, ready: int, now: float | None = None) -> int:
        """Return the visitor's place in the queue if ``ready`` kernels are warm; 0: it is the
        visitor's turn.
        """
        now = time.monotonic() if now is None else now
        self._last_requests[ticket] = now
        for other, last_request in list(self._last_requests.items()):
            if now - last_request >= LOST:
                self.leave(other)
        return max(0, list(self._last_requests).index(ticket) + 1 - ready)

    def waiting(self, now: float | None = None) -> int:
        """Return the number of waiting visitors."""
        now = time.monotonic() if now is None else now
        return sum(now - last_request < LOST for last_request in self._last_requests.values())

    def leave(self, ticket: str) -> None:
        """Remove a served visitor from the queue."""
        self._last_requests.pop(ticket, None)


class Seats:
    """The pages of visitors, so that a reload returns the page of the same kernel."""

    def __init__(self) -> None:
        #: Kernel and page of each visitor, by ticket.
        self._pages: dict[str, tuple[str, str]] = {}

    def take(self, ticket: str, kernel_id: str, page: str) -> None:
        """Record the page of a visitor."""
        self._pages[ticket] = kernel_id, page

    def page(self, ticket: str, kernels: Container[str]) -> tuple[str, str] | None:
        """Return the kernel and the page of a visitor if the kernel is one of ``kernels``.

        Pages of other kernels are removed.
        """
        self._pages = {
            owner: (kernel_id, page)
            for owner, (kernel_id, page) in self._pages.items()
            if kernel_id in kernels
        }
        return self._pages.get(ticket)


class Page(TornadoVoilaHandler):
    """Handler of the live page. Its kernel is alive, and does not get the visitor's token."""

    async def prepare(self) -> None:
        """Authenticate the visitor, then remove the token from the address."""
        await super().prepare()
        forget_token(self.request)

    @tornado.web.authenticated
    async def get(self, path: str | None = None) -> None:
        await self.kernel_manager.replace_dead()
        await ensure_async(super().get(path))


class PageInTurn(Page):
    """Handler of the visitor's live page, or of a recorded run until a kernel is ready."""

    #: The parts of the page being sent.
    _sent: list[str] | None = None

    @tornado.web.authenticated
    async def get(self, path: str | None = None) -> None:
        if path:
            await ensure_async(super().get(path))
            return
        ticket = self.get_cookie(COOKIE) or secrets.token_urlsafe(12)
        self.set_cookie(COOKIE, ticket, httponly=True, samesite="Strict")
        self.set_header("Cache-Control", "no-store")
        kernels = self.kernel_manager
        if seat := self.settings["seats"].page(ticket, kernels):
            kernel_id, page = seat
            if await kernels.lives(kernel_id):
                kernels.give(kernel_id)
                self.finish(page)
                return
        turns = self.settings["turns"]
        if turns.place(ticket, kernels.ready()):
            self.finish(_WAITING)
            return
        turns.leave(ticket)
        self._sent = []
        await ensure_async(super().get(path))
        self._take_seat(ticket, "".join(self._sent))

    def write(self, chunk: Any) -> None:
        """Send a part of the page and store it."""
        if self._sent is not None and isinstance(chunk, str):
            self._sent.append(chunk)
        super().write(chunk)

    def _take_seat(self, ticket: str, page: str) -> None:
        named = _KERNEL.search(page)
        if named is not None:
            self.settings["seats"].take(ticket, named[1], page)
            self.kernel_manager.give(named[1])


class Place(JupyterHandler):
    """Handler that responds with a visitor's place in the queue.

    The response has ``place`` (0: the page is ready), ``pages`` (maximum number of open pages),
    ``in_use`` (whether all are used), and ``seconds`` (estimated waiting time; null: unknown).
    """

    @tornado.web.authenticated
    def get(self) -> None:
        kernels = _kernels_of(self)
        ticket = self.get_cookie(COOKIE)
        place = self.settings["turns"].place(ticket, kernels.ready()) if ticket else 0
        self.set_header("Cache-Control", "no-store")
        self.finish(
            {
                "place": place,
                "pages": kernels.pages,
                "in_use": kernels.all_in_use(),
                "seconds": kernels.seconds_to_wait(place),
            }
        )


def _kernels_of(handler: JupyterHandler) -> PageKernels:
    """Return the kernel manager, an instance of the class in the server's configuration."""
    return cast("PageKernels", handler.kernel_manager)


class Recorded(JupyterHandler):
    """Handler of the page of a recorded run, a gzipped file."""

    @tornado.web.authenticated
    def get(self) -> None:
        self.set_header("Content-Encoding", "gzip")
        self.set_header("Cache-Control", "private, max-age=3600")
        self.finish(Path(self.settings["recorded"]).read_bytes())


class Pages(Voila):
    """The server of the pages."""

    recorded = Unicode(
        help="a gzipped page that visitors see until a kernel is ready; '': they wait"
    ).tag(config=True)

    faults = Unicode(
        help="the file in which kernels report faults; it becomes part of the log"
    ).tag(config=True)

    def listen(self) -> None:
        """Serve, and write faults of kernels to the log."""
        if self.faults:
            tornado.ioloop.PeriodicCallback(self._report_faults, FAULTS_EVERY).start()
        if self.recorded:
            tornado.ioloop.PeriodicCallback(self._release, RELEASE_EVERY).start()
        # Without time limits, an incomplete request keeps its connection for an hour.
        self.app.listen = partial(
            self.app.listen,
            idle_connection_timeout=REQUEST_SECONDS,
            body_timeout=REQUEST_SECONDS,
        )
        super().listen()

    async def _release(self) -> None:
        """Shut down the kernels of abandoned pages."""
        await self.kernel_manager.release(self.app.settings["turns"].waiting())

    def _report_faults(self) -> None:
        file = Path(self.faults)
        if not file.exists():
            return
        taken = file.with_suffix(".taken")
        file.replace(taken)
        self.log.error(
            "a request of a page failed\n%s", taken.read_text(errors="replace")[-20_000:]
        )

    @default("identity_provider_class")
    def _identity(self) -> type:
        return Identity

    def init_settings(self) -> dict[str, Any]:
        """Return the settings of the web application."""
        settings = super().init_settings()
        token = self.identity_provider.token
        if token:
            hide(token)
        settings["allow_remote_access"] = accepts_any_host(token, self.ip)
        # Sign the notebook; otherwise every page logs that it is not trusted.
        self.contents_manager.notary.sign(nbformat.read(self.notebook_path, as_version=4))
        tornado.web.GZipContentEncoding.GZIP_LEVEL = (
            1  # the fastest compression, because the visitor waits for it
        )
        # Error pages need the path.
        own = {
            "turns": Turns(),
            "seats": Seats(),
            "recorded": self.recorded,
            "static_path": DEFAULT_STATIC_FILES_PATH,
        }
        return settings | own | {"compress_response": True}

    def init_handlers(self) -> list:
        """Return the handlers: with the protected socket, and without the one that sends a
        visitor's query to anyone.
        """
        own = {
            VoilaKernelWebsocketHandler: Socket,
            VoilaShutdownKernelHandler: Closing,
            TornadoVoilaHandler: PageInTurn if self.recorded else Page,
        }
        handlers = [
            handler
            for handler in super().init_handlers()
            if handler[1] is not RequestInfoSocketHandler
        ]
        handlers = [(path, own.get(handler, handler), *more) for path, handler, *more in handlers]
        waiting = {"place": Place, "recorded": Recorded} if self.recorded else {}
        return [
            *((url_path_join(self.server_url, f"/{name}"), of) for name, of in waiting.items()),
            *handlers,
        ]
