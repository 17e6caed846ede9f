"""The client of an engine on a server (``hsd-viz serve``).

Importing this module does not load torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import httpx
import msgspec

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.decoding.text import Prompt
from hsd_viz.errors import INVALID_JSON, UserError
from hsd_viz.stack import Stack
from hsd_viz.trace import Event, Finished
from hsd_viz.trace.events import ServerError, read_events

#: The seconds to wait for a connection, and for data from the server.
TIMEOUT = httpx.Timeout(600.0, connect=10.0)


def connect(url: str, token: str | None = None) -> RemoteEngine:
    """Connect to an engine at an address such as ``http://127.0.0.1:8800``, and check that it
    answers.

    Raises:
        UserError: if the address is not valid, the server cannot be reached, or the token is
            refused.
    """
    engine = RemoteEngine(url, token)
    engine.model_names()
    return engine


class _ServerFacts(msgspec.Struct):
    """What a server answers about its models.

    Attributes:
        models: their names.
        family: the name of their family.
    """

    models: list[str]
    family: str | None = None


class _ServerRefusal(msgspec.Struct):
    """What a server answers to a request that it refuses."""

    error: Any


class RemoteEngine(Engine):
    """An engine that decodes on a server.

    Events and traces are the same as those of :class:`hsd_viz.engine.local.LocalEngine`.

    Args:
        url: the address of the server.
        token: the access token, if the server requires one.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = str(url).rstrip("/")
        if not re.match(r"https?://[^/?#\s]+", self.url):
            raise UserError(
                f"{url!r} is not the address of a server: use one such as http://127.0.0.1:8800"
            )
        self._headers: dict[str, Any] = {}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}".encode()

    def __repr__(self) -> str:
        return f"RemoteEngine({self.url!r})"

    def model_names(self) -> list[str]:
        """Return the names of the models that the server offers."""
        with self._lines("GET", "/models", f"{self.url} cannot be reached") as lines:
            try:
                facts = msgspec.json.decode("".join(lines), type=_ServerFacts)
            except (RecursionError, UnicodeEncodeError, msgspec.DecodeError):
                raise ServerError(f"{self.url} is not a server of hsd_viz") from None
        self.family = facts.family or self.family
        return facts.models

    def events(
        self, prompt: Prompt, stack: str | Stack, options: DecodingOptions
    ) -> Iterator[Event]:
        """Decode a prompt as :meth:`Engine.events` does, without the options ``memory`` and
        ``budget``.

        Raises:
            ServerError: if the server reports an error; ``retry`` is true if sending the request
                again may help.
            UserError: if an option is not supported.
        """
        settings = {field.name: getattr(options, field.name) for field in fields(options)}
        for name in ("memory", "budget"):
            if settings.pop(name) is not None:
                raise UserError(
                    f"a server takes no {name}: decode in this process, with load_engine()"
                )
        return self._events(
            {
                "prompt": prompt if isinstance(prompt, str) else [*prompt],
                "stack": str(stack),
                **settings,
            }
        )

    def _events(self, body: dict[str, Any]) -> Iterator[Event]:
        event = None
        lines = self._lines("POST", "/decode", f"the connection to {self.url} broke", body)
        with lines as response:
            for event in read_events(_records(response)):
                yield event
        if not isinstance(event, Finished):
            raise ServerError("the server closed the connection before the end", retry=True)

    @contextmanager
    def _lines(
        self, method: str, path: str, broken: str, body: Any = None
    ) -> Iterator[Iterator[str]]:
        """Send a request, and provide an iterator over the lines of the response.

        The message for a lost connection begins with ``broken``.
        """
        # trust_env=False: the server is addressed directly, not through a proxy.
        with httpx.Client(timeout=TIMEOUT, headers=self._headers, trust_env=False) as client:
            try:
                with client.stream(method, self.url + path, json=body) as response:
                    if response.status_code != 200:
                        raise ServerError(
                            _message(response, self.url), retry=response.status_code == 503
                        )
                    yield response.iter_lines()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = re.sub(r"^\[Errno -?[0-9]+\] ", "", str(error)) or type(error).__name__
                raise ServerError(f"{broken}: {reason}", retry=True) from None


def _records(lines: Iterable[str]) -> Iterator[Any]:
    """Yield the records of a response, up to an incomplete last line.

    Raises:
        ServerError: if a line is not valid JSON.
    """
    for line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return
        except INVALID_JSON:
            raise ServerError("the server sent a record that is not valid") from None


def _message(response: httpx.Response, url: str) -> str:
    try:
        return str(msgspec.json.decode(response.read(), type=_ServerRefusal).error)
    except (RecursionError, msgspec.DecodeError):
        status = f"{response.status_code} {response.reason_phrase}"
        return f"{url} answered {status}: it is not a server of hsd_viz, or is starting"
