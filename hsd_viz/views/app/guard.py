"""Access control of the server of the pages: refused requests, and protection of the token.

Requests without the token are refused, as are, on a server without a token, requests for another
Host, and messages from pages of other sites. By default, Voilà answers any Host header, lets a
visitor set a password for all, writes tokens to its log, and passes them to kernels.
"""

from __future__ import annotations

import hmac
import logging
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import tornado.web
from jupyter_server.auth.identity import PasswordIdentityProvider
from tornado.httputil import HTTPServerRequest
from traitlets import Unicode, default

from hsd_viz.machine import is_loopback


class Identity(PasswordIdentityProvider):
    """Authentication by the token only, compared in constant time."""

    token_file = Unicode(help="a file with the token, which is removed when it was read").tag(
        config=True
    )

    @default("token")
    def _read_token(self) -> str:
        if not self.token_file:
            return ""
        file = Path(self.token_file)
        token = file.read_text(encoding="utf-8")
        file.unlink()
        return token

    def get_token(self, handler: Any) -> str | None:
        """Return the token of a request; ``None`` if it is wrong."""
        return self.token if self._accepts(super().get_token(handler)) else None

    def process_login_form(self, handler: Any) -> Any:
        """Return a user if the login form contains the token."""
        accepted = self._accepts(handler.get_argument("password", default=""))
        return self.generate_anonymous_user(handler) if accepted else None

    def _accepts(self, given: str | None) -> bool:
        if not self.token or not given:
            return False
        return hmac.compare_digest(given.encode(), self.token.encode())


def accepts_any_host(token: str, ip: str) -> bool:
    """Return whether the server answers requests with any Host header.

    Any web page can make its name resolve to 127.0.0.1 (DNS rebinding). A token protects against
    that.
    """
    return bool(token) or not is_loopback(ip)


def refuse_other_sites(request: HTTPServerRequest) -> None:
    """Refuse a message that was not sent by a page of this server.

    Raises:
        HTTPError: 403 for such a message.
    """
    sender = request.headers.get("Origin") or request.headers.get("Referer") or ""
    if urlsplit(sender).netloc != request.host:
        raise tornado.web.HTTPError(403)


def forget_token(request: HTTPServerRequest) -> None:
    """Remove the token from the address and the arguments of a request."""
    kept = [(k, v) for k, v in parse_qsl(request.query, True) if k.lower() != "token"]
    request.query = urlencode(kept)
    request.uri = request.path + ("?" + request.query if kept else "")
    for arguments in (request.arguments, request.query_arguments):
        for name in [name for name in arguments if name.lower() == "token"]:
            del arguments[name]


def hide(secret: str) -> None:
    """Mask a secret in all log records of this process."""
    make = logging.getLogRecordFactory()

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        entry = make(*args, **kwargs)
        text = entry.getMessage()
        text = text.replace(secret, "[token]")
        entry.msg = text.replace(quote(secret, safe=""), "[token]")
        entry.args = ()
        return entry

    logging.setLogRecordFactory(record)
