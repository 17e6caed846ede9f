"""The requests that the server refuses: without the token, for another Host, of other web pages.

A page of the web that a visitor has open may send requests to any address that the visitor's
machine reaches, this server's too, and may make its own name resolve to 127.0.0.1.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from fastapi import FastAPI, HTTPException, Request
from starlette.middleware.trustedhost import TrustedHostMiddleware

#: The only type of a request's body: a form of a web page cannot send it.
BODY_TYPE = "application/json"


def require_host(app: FastAPI, hosts: Sequence[str]) -> None:
    """Refuse all requests whose Host header is not one of ``hosts`` (``*``: any)."""
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)


def check_request(request: Request, token: str | None) -> None:
    """Check the token and the sender of a request; ``/health`` is open to all.

    Raises:
        HTTPException: 401 without the token, 403 if another web page sends it.
    """
    if request.url.path == "/health":
        return
    if token is not None:
        check_token(request, token)
    check_origin(request)


def check_token(request: Request, token: str) -> None:
    """Check that a request has the token.

    Raises:
        HTTPException: 401, if not.
    """
    is_page = request.url.path == "/"
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        given = ""
    if is_page and not given:  # a browser opens an address
        given = request.query_params.get("token", "")
    if not hmac.compare_digest(given.encode(), token.encode()):
        where = ": open /?token=TOKEN" if is_page else ""
        raise HTTPException(
            401, f"a valid token is required{where}", {"WWW-Authenticate": "Bearer"}
        )


def check_origin(request: Request) -> None:
    """Check that no other web page sends a request.

    Raises:
        HTTPException: 403, if one does.
    """
    # Browsers add the header, our clients do not. The Host header was checked.
    own = f"{request.url.scheme}://{request.headers.get('host')}"
    if request.headers.get("origin", own) != own:
        raise HTTPException(403, "requests of other web pages are not accepted")


def check_type(request: Request) -> None:
    """Check the type of a request's body.

    Raises:
        HTTPException: 415, if it is another one.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != BODY_TYPE:
        raise HTTPException(415, f"the body must be {BODY_TYPE}")
