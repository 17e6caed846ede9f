"""Connections that are used as no client uses them are closed, and make room for others."""

import asyncio
import socket
import time
from contextlib import suppress

import httpx
import pytest

from hsd_viz.serve import connections
from hsd_viz.serve.settings import ServerSettings
from tests.patience import PATIENCE
from tests.serve.serving import Slow, serving


class Peer:
    """A connection to a server that is used as no client uses it."""

    def __init__(self, address, sent=b"", buffer=None):
        url = httpx.URL(address)
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect((url.host, url.port))
        self.socket.sendall(sent)

    def is_closed(self, seconds=0.0):
        """Whether the server closed it, which may take so many seconds."""
        self.socket.settimeout(seconds or 0.01)
        try:
            while self.socket.recv(2**16):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True


HEAD = b"POST /decode HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
HALF = {
    "silent": b"",
    "half a line": b"GET /heal",
    "half a header": HEAD,
    "half a body": HEAD + b"Content-Length: 99\r\n\r\n{",
    "between two requests": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /",
}


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(connections, "STALLED_SECONDS", 0.5)


@pytest.mark.parametrize("kind", HALF)
def test_half_open_requests_are_closed(kind, hasty):
    with serving(Slow().decode) as address:
        peer = Peer(address, HALF[kind])
        assert peer.is_closed(PATIENCE)
        assert httpx.get(f"{address}/health").status_code == 200


def test_a_header_that_arrives_byte_by_byte_is_closed(hasty):
    with serving(Slow().decode) as address:
        peer = Peer(address, HEAD)
        until = time.monotonic() + PATIENCE
        while not peer.is_closed(0.1):
            assert time.monotonic() < until
            with suppress(OSError):
                peer.socket.sendall(b"X")


def test_a_reader_that_stops_ends_its_decode(hasty):
    class Endless(Slow):
        async def decode(self, request):
            try:
                while True:
                    yield [{"event": "stage", "text": "x" * 2**16, "done": None, "total": None}]
                    await asyncio.sleep(0)
            finally:
                self.closed.set()

    endless = Endless()
    body = b'{"prompt": "x"}'
    with serving(endless.decode) as address:
        request = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        peer = Peer(address, request, buffer=2**12)
        assert endless.closed.wait(PATIENCE)
        assert peer.is_closed(PATIENCE)


def test_silent_connections_make_room_for_requests(monkeypatch):
    monkeypatch.setattr(connections, "MORE", 8)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 600.0)
    with serving(Slow().decode, settings=ServerSettings(queue=1)) as address:
        peers = [Peer(address) for _ in range(40)]
        until = time.monotonic() + PATIENCE
        while sum(not peer.is_closed() for peer in peers) > 12:
            assert time.monotonic() < until
        assert not peers[-1].is_closed(), "the oldest leave"
        assert httpx.get(f"{address}/health").status_code == 200


def test_a_peer_of_another_machine_has_so_many_connections(monkeypatch):
    monkeypatch.setattr(connections, "MORE_PER_PEER", 2)
    monkeypatch.setattr(connections, "is_loopback", lambda host: False)
    with serving(Slow().decode, settings=ServerSettings(queue=1)) as address:
        peers = [Peer(address) for _ in range(4)]
        more = Peer(address)
        assert more.is_closed(PATIENCE)
        for peer in peers:
            assert not peer.is_closed()
