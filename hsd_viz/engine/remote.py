"""An engine on a server (``hsd-viz serve``). Imports no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Unpack

import httpx

from hsd_viz.decoding.engine import Engine, Options
from hsd_viz.decoding.text import Prompt
from hsd_viz.engine.resolve import with_defaults
from hsd_viz.errors import INVALID_JSON, MALFORMED, UserError
from hsd_viz.stack import TARGET, Stack
from hsd_viz.trace import Event, Finished
from hsd_viz.trace.events import ServerError, read_events

#: Seconds to connect, and without any data from the server.
TIMEOUT = httpx.Timeout(600.0, connect=10.0)


def connect(url: str, token: str | None = None) -> RemoteEngine:
    """Return the engine at an address such as ``http://127.0.0.1:8800``, after asking whether it is
    there.

    Raises:
        UserError: if the address is not valid, the server cannot be reached, or the token is
            refused.
    """
    engine = RemoteEngine(url, token)
    engine.model_names()
    return engine


class RemoteEngine(Engine):
    """Decodes on a server: the same events and traces as
    :class:`hsd_viz.engine.local.LocalEngine`.
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
                facts = json.loads("".join(lines))
                self.family = str(facts.get("family", self.family))
                return [str(name) for name in facts["models"]]
            except MALFORMED:
                raise ServerError(f"{self.url} is not a server of hsd_viz") from None

    def decode(
        self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[Options]
    ) -> Iterator[Event]:
        """Yield the events of a decode as :meth:`Engine.decode` does, without ``memory`` and
        ``budget``.

        Raises:
            ServerError: a UserError with the server's message; ``retry`` says whether sending it
                again may help.
            UserError: if a value that must be a number is not.
        """
        asked = with_defaults(options)
        for name in ("memory", "budget"):
            if asked.pop(name) is not None:
                raise UserError(
                    f"a server takes no {name}: decode in this process, with load_engine()"
                )
        return self._events(
            {
                "prompt": prompt if isinstance(prompt, str) else [*prompt],
                "stack": str(stack),
                **asked,
            }
        )

    def _events(self, body: dict[str, Any]) -> Iterator[Event]:
        event = None
        lines = self._lines("POST", "/decode", f"the connection to {self.url} broke", body)
        with lines as given:
            for event in read_events(_records(given)):
                yield event
        if not isinstance(event, Finished):
            raise ServerError("the server closed the connection before the end", retry=True)

    @contextmanager
    def _lines(
        self, method: str, path: str, broken: str, body: Any = None
    ) -> Iterator[Iterator[str]]:
        """Send a request and give the lines of its answer; the error of a lost connection begins
        with ``broken``.
        """
        # Servers are addressed as they are given: no proxy of the environment is asked.
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
    """Yield the records of an answer up to half a line.

    Raises:
        ServerError: if a line is not one.
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
        return str(json.loads(response.read())["error"])
    except MALFORMED:
        status = f"{response.status_code} {response.reason_phrase}"
        return f"{url} answered {status}: it is not a server of hsd_viz, or is starting"
