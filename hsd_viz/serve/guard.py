"""Checks of requests: the token, the Host header, and the page that sent them.

Any web page that a visitor has open can send requests to every address that the visitor's machine
reaches, including this server, and can make its own host name resolve to 127.0.0.1 (DNS rebinding).
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from fastapi import FastAPI, HTTPException, Request
from starlette.middleware.trustedhost import TrustedHostMiddleware

#: The only accepted type of a request's body. The form of a web page cannot send it.
BODY_TYPE = "application/json"


def require_host(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse requests whose Host header is not one of ``hosts`` (``*`` accepts any)."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)


def check_request(request: Request, token: str | None) -> None:
    """Check the token and the origin of a request; ``/health`` needs no token.

    Raises:
        HTTPException: 401 without the token, 403 if another web page sent the request.
    """
    if request.url.path == "/health":
        return
    if token is not None:
        check_token(request, token)
    check_origin(request)


def check_token(request: Request, token: str) -> None:
    """Check that a request carries the token.

    Raises:
        HTTPException: 401, if it does not.
    """
    is_page = request.url.path == "/"
    scheme, _, given_token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        given_token = ""
    if is_page and not given_token:  # a browser opens an address
        given_token = request.query_params.get("token", "")
    if not hmac.compare_digest(given_token.encode(), token.encode()):
        where = ": open /?token=TOKEN" if is_page else ""
        raise HTTPException(
            401, f"a valid token is required{where}", {"WWW-Authenticate": "Bearer"}
        )


def check_origin(request: Request) -> None:
    """Check that the request was not sent by another web page.

    Raises:
        HTTPException: 403, if it was.
    """
    # Browsers add the Origin header, the package's clients do not. The Host header was checked.
    own = f"{request.url.scheme}://{request.headers.get('host')}"
    if request.headers.get("origin", own) != own:
        raise HTTPException(403, "requests of other web pages are not accepted")


def check_type(request: Request) -> None:
    """Check the type of a request's body.

    Raises:
        HTTPException: 415, if it is not :data:`BODY_TYPE`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != BODY_TYPE:
        raise HTTPException(415, f"the body must be {BODY_TYPE}")
