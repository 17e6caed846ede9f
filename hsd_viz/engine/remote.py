"""An engine on a server (``hsd-viz serve``). Imports no torch, only the standard library."""

from __future__ import annotations

import http.client
import json
import ssl
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from hsd_viz.card import card, line
from hsd_viz.decoding.settings import DEFAULT_RULE
from hsd_viz.engine import OPTIONS, Engine, options_of
from hsd_viz.stack import Stack
from hsd_viz.trace import Event, Finished
from hsd_viz.trace.wire import EventReader, ServerError

#: Seconds to connect, and without any data from the server.
CONNECT_SECONDS, SILENT_SECONDS = 10.0, 600.0
#: Identifies this process to the server's queue.
_VISITOR = uuid.uuid4().hex


def connect(url: str, token: str | None = None) -> RemoteEngine:
    """Return the engine at an address such as ``http://127.0.0.1:8800``, after asking whether it is there. Raises:
    ValueError: if the address is not valid, the server cannot be reached, or the token is refused.
    """
    engine = RemoteEngine(url, token)
    engine.model_names()
    return engine


class RemoteEngine(Engine):
    """Decodes on a server: the same events and traces as :class:`hsd_viz.engine.local.LocalEngine`."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a server: use one such as http://127.0.0.1:8800")
        self.url, self._parts, self._token = url.rstrip("/"), parts, token

    def __repr__(self) -> str:
        return f"RemoteEngine({self.url!r})"

    def _repr_html_(self) -> str:
        """Return the address and how to decode for a notebook."""
        return card("Engine", self.url, line('Decode with engine.run(prompt, stack="db > target").'))

    def model_names(self) -> list[str]:
        """Return the names of the models that the server offers."""
        return [str(name) for name in self._get("/models")["models"]]

    @options_of(Engine.decode)
    def decode(self, prompt: str | Sequence[int], stack: str | Stack = "target", **options: Any) -> Iterator[Event]:
        """Yield the events of a decode; options as in :meth:`Engine.decode`. Closing the generator cancels it. Raises:
        ServerError: a ValueError with the server's message; ``retry`` says whether sending it again may help.
        """
        body = {
            "prompt": prompt if isinstance(prompt, str) else list(prompt),
            "stack": str(stack),
            **OPTIONS,
            **options,
        }
        body |= {name: float(body[name]) for name in ("temperature", "top_p")}
        rule = body.pop("rule")
        if rule != DEFAULT_RULE:  # servers of earlier versions do not know it
            body["rule"] = rule if isinstance(rule, str) else dict(rule)
        return self._events(json.dumps(body).encode())

    def _events(self, body: bytes) -> Iterator[Event]:
        cut = "the server closed the connection before the end"
        broke = f"the connection to {self.url} broke"
        reader, ended = EventReader(), False
        with self._answer("POST", "/decode", body, broke, ServerError(cut, retry=True)) as response:
            while line := response.readline():
                event = reader.read(json.loads(line))
                ended = isinstance(event, Finished)
                yield event
            if not ended:
                raise ServerError(cut, retry=True)

    def _get(self, path: str) -> Any:
        other = ServerError(f"{self.url} is not a server of hsd_viz")
        with self._answer("GET", path, None, f"{self.url} cannot be reached", other) as response:
            return json.loads(response.read())

    @contextmanager
    def _answer(
        self, method: str, path: str, body: bytes | None, broken: str, no_json: ServerError
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request; a failed connection is an error that begins with ``broken``, damaged JSON is ``no_json``."""
        connection = self._connection()
        try:
            yield self._request(connection, method, path, body)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ServerError(f"{broken}: {reason}", retry=True) from None
        except json.JSONDecodeError:
            raise no_json from None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname, self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=context)
        return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)

    def _request(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> http.client.HTTPResponse:
        connection.connect()
        connection.sock.settimeout(SILENT_SECONDS)
        headers = {"X-Visitor": _VISITOR, "Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ServerError(_message(response, self.url), retry=response.status == 503)
        return response


def _message(response: http.client.HTTPResponse, url: str) -> str:
    try:
        return str(json.loads(response.read(65536))["error"])
    except (ValueError, KeyError, TypeError):
        return f"{url} answered {response.status} {response.reason}: it is not a server of hsd_viz, or is starting"
