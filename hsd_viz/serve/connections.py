"""Limits on the number of connections and on the time to send a request.

They apply below the web application. A connection without a complete request, or whose client has
stopped reading, costs a file descriptor and memory. It is closed after some seconds; at the maximum
number of connections, the oldest such connection is closed to make room.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hsd_viz.machine import is_loopback

#: Seconds to send the headers of a request, and the maximum pause between two requests of a
#: connection.
HEADER_SECONDS = 10.0
#: Seconds for a client to send the body of a request, and to read the data that it was sent.
BODY_SECONDS = 30.0
STALLED_SECONDS = 60.0
#: Number of connections beyond the decodes and the queue, for one peer and for all together.
MORE_PER_PEER = 32
MORE = 256


def limited(requests: int) -> type[H11Protocol]:
    """Return the protocol of a server with at most ``requests`` running and waiting requests.

    A peer on this machine, such as a proxy, may use all connections.
    """

    class Protocol(LimitedProtocol):
        most_per_peer = requests + MORE_PER_PEER
        most = 2 * requests + MORE

    return Protocol


class LimitedProtocol(H11Protocol):
    """An HTTP/1.1 connection with time limits, one of a limited number.

    Attributes:
        most_per_peer: maximum number of connections of a peer on another machine.
        most: maximum number of connections of all peers.
    """

    most_per_peer = MORE_PER_PEER
    most = MORE

    def connection_made(self, transport: Any) -> None:
        """Accept the connection, or close it if the limits are reached."""
        super().connection_made(transport)
        self._since = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        own = self.client[0] if self.client else ""
        # Connections that are being closed stay in the set until the event loop handles them.
        others = []
        for connection in self.connections:
            if isinstance(connection, LimitedProtocol) and not connection.transport.is_closing():
                others.append(connection)
        of_peer = [other for other in others if other.client and other.client[0] == own]
        if not is_loopback(own) and len(of_peer) > self.most_per_peer:
            transport.abort()
            return
        if len(others) > self.most:
            idle = [other for other in others if other.is_idle and other is not self]
            if not idle:
                transport.abort()
                return
            min(idle, key=lambda other: other._since).transport.abort()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from those that count."""
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = time.monotonic()
        super().on_response_complete()
        self._wait_for_request()

    def pause_writing(self) -> None:
        """Record that the client has stopped reading."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    @property
    def is_idle(self) -> bool:
        """Return whether no complete request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_request(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(HEADER_SECONDS, self._check_request)

    def _check_request(self) -> None:
        if self.is_idle:
            self.transport.abort()
