"""Voilà with what strangers could misuse closed; run as ``python -m hsd_viz.views.app.pages`` by
:func:`hsd_viz.views.app.server.command`.

Voilà itself answers any Host header, lets a visitor set a password for all, writes tokens to its log, passes them to
kernels, sends a visitor's query to anyone who asks for it by kernel, and runs out of memory when a socket of the former
protocol gets a message with buffers.
"""

from __future__ import annotations

import hmac
import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import nbformat
import traitlets
from jupyter_server import DEFAULT_STATIC_FILES_PATH
from jupyter_server.auth.identity import PasswordIdentityProvider
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from tornado.web import HTTPError
from voila.app import Voila
from voila.request_info_handler import RequestInfoSocketHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from hsd_viz.machine import is_loopback

#: The niceness of kernels where many pages share the machine: they leave the processor to the server.
NICE = 10


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager with a limit; its culler counts from the moment at which a page was closed."""

    pages = traitlets.Int(0, help="the most kernels at a time, one more is refused with 503; 0: no limit").tag(
        config=True
    )

    _starting = traitlets.Set()

    async def start_kernel(self, **kwargs: Any) -> str:
        """Start a kernel. Raises: HTTPError: 503 if all pages are in use."""
        if self.pages and len({*self.list_kernel_ids(), *self._starting}) >= self.pages:
            raise HTTPError(503, reason=f"all {self.pages} pages of this server are in use: try again in a minute")
        kernel = self.new_kernel_id(**kwargs)
        self._starting.add(kernel)
        try:
            await super().start_kernel(**kwargs, kernel_id=kernel)
        finally:
            self._starting.discard(kernel)
        if self.pages:
            with suppress(AttributeError, OSError):
                os.setpriority(os.PRIO_PROCESS, self.get_kernel(kernel).provisioner.pid, NICE)
        return kernel

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note that a page was closed: that is the last activity of its kernel."""
        super().notify_disconnect(kernel_id)
        if kernel_id in self:
            self.get_kernel(kernel_id).last_activity = datetime.now(UTC)


class Identity(PasswordIdentityProvider):
    """The token alone lets a visitor in; it is compared in constant time."""

    def get_token(self, handler: Any) -> str | None:
        """Return the token of a request, or None if it is wrong."""
        return self.token if self._accepts(super().get_token(handler)) else None

    def process_login_form(self, handler: Any) -> Any:
        """Return a user if the form has the token."""
        accepted = self._accepts(handler.get_argument("password", default=""))
        return self.generate_anonymous_user(handler) if accepted else None

    def _accepts(self, given: str | None) -> bool:
        return bool(self.token and given) and hmac.compare_digest(given.encode(), self.token.encode())


class Socket(VoilaKernelWebsocketHandler):
    """A kernel's socket. Voilà reads the header of every binary message as the present protocol has it; in one of the
    former protocol, which clients may choose, that is a list of up to 2**64 numbers.
    """

    def get_websocket_protocol(self) -> Any:
        """Return the protocol without tornado's pings: it would take Jupyter's milliseconds for seconds, and warn."""
        protocol = super().get_websocket_protocol()
        if protocol is not None:
            protocol.params.ping_interval = protocol.params.ping_timeout = None
        return protocol

    def write_message(self, message: Any, binary: bool = False) -> Any:
        """Send a message to the visitor."""
        if isinstance(message, bytes) and self.selected_subprotocol is None:
            return KernelWebsocketHandler.write_message(self, message, binary)
        return super().write_message(message, binary)


class Pages(Voila):
    """The server of the pages."""

    @traitlets.default("identity_provider_class")
    def _identity(self) -> type:
        return Identity

    def init_settings(self) -> dict[str, Any]:
        """Return the settings of the web application."""
        settings = super().init_settings()
        token = self.identity_provider.token
        if token:
            os.environ.pop("JUPYTER_TOKEN", None)  # kernels need no token
            _hide(token)
        # Any page of the web may make its name resolve to 127.0.0.1; with a token that does not help it.
        settings["allow_remote_access"] = bool(token) or not is_loopback(self.ip)
        # Otherwise every page logs that the notebook is not trusted.
        self.contents_manager.notary.sign(nbformat.read(self.notebook_path, as_version=4))
        settings["static_path"] = DEFAULT_STATIC_FILES_PATH  # pages of errors need it
        return settings

    def init_handlers(self) -> list:
        """Return the handlers, with our socket, without the one that would send a visitor's query to anyone."""
        handlers = [handler for handler in super().init_handlers() if handler[1] is not RequestInfoSocketHandler]
        return [(h[0], Socket, *h[2:]) if h[1] is VoilaKernelWebsocketHandler else h for h in handlers]


def _hide(secret: str) -> None:
    """Replace a secret in all log records of this process."""
    make = logging.getLogRecordFactory()

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        made = make(*args, **kwargs)
        text = made.getMessage()
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, "[token]")
        made.msg, made.args = text, ()
        return made

    logging.setLogRecordFactory(record)


if __name__ == "__main__":
    Pages.launch_instance()
