"""Voilà with what strangers could misuse closed; run as ``python -m hsd_viz.views.app.pages`` by
:func:`hsd_viz.views.app.server.command`.

A page needs a kernel, which takes seconds of a core to start: on the server of a class a visitor
who comes while no warm kernel is ready gets a recorded run at once, with a place in the queue above
it; the live page replaces it. A page belongs to its visitor: a reload gets the same page of the
same kernel again.

Voilà itself sends a visitor's query to anyone who asks for it by kernel, and runs out of memory
when a socket of the former protocol gets a message with buffers. Requests that are refused, and the
token: :mod:`hsd_viz.views.app.guard`.
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
#: Milliseconds between two looks for pages that were left.
RELEASE_EVERY = 1000
_KERNEL = re.compile(r'"kernelId": "([^"]+)"')
#: Seconds after which a visitor who no longer asks for the place has left.
LOST = 15.0
#: Seconds to send the headers, and the body, of a request.
REQUEST_SECONDS = 60
#: Milliseconds between two looks for faults of kernels.
FAULTS_EVERY = 1000
_WAITING = Path(__file__).with_name("waiting.html").read_text(encoding="utf-8")


class Socket(VoilaKernelWebsocketHandler):
    """A kernel's socket. Voilà reads the header of every binary message as the present protocol has
    it; in one of the former protocol, which clients may choose, that is a list of up to 2**64
    numbers.
    """

    def get_websocket_protocol(self) -> Any:
        """Return the protocol without tornado's pings: it would take Jupyter's milliseconds for
        seconds, and warn.
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
    """The message of a page that is closed: its kernel ends. A beacon cannot carry the token
    against forgery, so the page that sends it must be of this server.
    """

    def check_xsrf_cookie(self) -> None:
        """Refuse a message of another site's page."""
        refuse_other_sites(self.request)

    @tornado.web.authenticated
    async def post(self, kernel_id: str) -> None:
        """Shut the kernel down, unless it has ended; where visitors take turns, a moment later."""
        if self.settings["recorded"]:
            self.kernel_manager.close(kernel_id)
        elif kernel_id in self.kernel_manager:
            await ensure_async(self.kernel_manager.shutdown_kernel(kernel_id))
        self.set_status(204)
        self.finish()


class Turns:
    """The visitors who wait, in the order in which they came."""

    def __init__(self) -> None:
        #: Ticket -> when its visitor last asked.
        self._asked: dict[str, float] = {}

    def place(self, ticket: str, ready: int, now: float | None = None) -> int:
        """Return the place in the queue where ``ready`` kernels are warm; 0 means that it is
        this visitor's turn.
        """
        now = time.monotonic() if now is None else now
        self._asked[ticket] = now
        self._asked = {one: asked for one, asked in self._asked.items() if now - asked < LOST}
        return max(0, list(self._asked).index(ticket) + 1 - ready)

    def waiting(self, now: float | None = None) -> int:
        """Return how many visitors wait."""
        now = time.monotonic() if now is None else now
        return sum(now - asked < LOST for asked in self._asked.values())

    def leave(self, ticket: str) -> None:
        """Take a visitor who was served out of the queue."""
        self._asked.pop(ticket, None)


class Seats:
    """The pages that visitors have: a reload gets the page of the same kernel again."""

    def __init__(self) -> None:
        #: Ticket -> kernel and page.
        self._pages: dict[str, tuple[str, str]] = {}

    def take(self, ticket: str, kernel_id: str, page: str) -> None:
        """Note which page a visitor got."""
        self._pages[ticket] = kernel_id, page

    def page(self, ticket: str, kernels: Container[str]) -> tuple[str, str] | None:
        """Return the kernel and the page of a visitor, if the kernel is one of ``kernels``.

        Pages of other kernels are forgotten.
        """
        self._pages = {
            owner: (kernel_id, page)
            for owner, (kernel_id, page) in self._pages.items()
            if kernel_id in kernels
        }
        return self._pages.get(ticket)


class Page(TornadoVoilaHandler):
    """The live page of a kernel that lives, which does not get the token of its visitor."""

    async def prepare(self) -> None:
        """Authenticate the visitor, then forget the token of the address."""
        await super().prepare()
        forget_token(self.request)

    @tornado.web.authenticated
    async def get(self, path: str | None = None) -> None:
        await self.kernel_manager.replace_dead()
        await ensure_async(super().get(path))


class PageInTurn(Page):
    """The live page of this visitor, or a recorded run until a kernel is ready."""

    #: The parts of the page that is being sent.
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
        """Send a part of the page, and remember it."""
        if self._sent is not None and isinstance(chunk, str):
            self._sent.append(chunk)
        super().write(chunk)

    def _take_seat(self, ticket: str, page: str) -> None:
        named = _KERNEL.search(page)
        if named is not None:
            self.settings["seats"].take(ticket, named[1], page)
            self.kernel_manager.give(named[1])


class Place(JupyterHandler):
    """A visitor's place in the queue.

    Its answer: ``place`` (0: the page is ready), ``pages`` that may be open, whether all are
    ``in_use``, and ``seconds`` until the place is expected (null: unknown).
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
    """Return the kernel manager, which the server makes of the class in its configuration."""
    return cast("PageKernels", handler.kernel_manager)


class Recorded(JupyterHandler):
    """The page of a recorded run, a gzipped file."""

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
        """Serve, with what kernels report in the log."""
        if self.faults:
            tornado.ioloop.PeriodicCallback(self._report_faults, FAULTS_EVERY).start()
        if self.recorded:
            tornado.ioloop.PeriodicCallback(self._release, RELEASE_EVERY).start()
        # Without limits a half-open request keeps its connection for an hour.
        self.app.listen = partial(
            self.app.listen,
            idle_connection_timeout=REQUEST_SECONDS,
            body_timeout=REQUEST_SECONDS,
        )
        super().listen()

    async def _release(self) -> None:
        """End the pages that were left."""
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
        # Otherwise every page logs that the notebook is not trusted.
        self.contents_manager.notary.sign(nbformat.read(self.notebook_path, as_version=4))
        tornado.web.GZipContentEncoding.GZIP_LEVEL = (
            1  # the fastest: a visitor waits for the packing, too
        )
        # Pages of errors need the path.
        own = {
            "turns": Turns(),
            "seats": Seats(),
            "recorded": self.recorded,
            "static_path": DEFAULT_STATIC_FILES_PATH,
        }
        return settings | own | {"compress_response": True}

    def init_handlers(self) -> list:
        """Return the handlers, with our socket, without the one that would send a visitor's
        query to anyone.
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


if __name__ == "__main__":
    Pages.launch_instance()
