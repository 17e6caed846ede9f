"""Attacks on served pages: code over a kernel's socket, other visitors' kernels, other sites,
tokens.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import subprocess
import time
import uuid
from itertools import product

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from hsd_viz.machine import free_port
from hsd_viz.views.app.server import command
from tests.patience import PATIENCE

SECRET = "s3cret/token"
VERSION = {"version": "1.0.0"}
PROTOCOL = "v1.kernel.websocket.jupyter.org"


class Server:
    def __init__(self, port: int, log) -> None:
        self.port = port
        self.log = log
        #: The kernel of the first visitor's page.
        self.kernel = ""

    def ask(self, path, method="GET", body=None, headers: dict[str, str] | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        content = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, answer.headers, content

    def answers(self) -> bool:
        try:
            return self.ask("/voila/static/x")[0] > 0
        except OSError:
            return False

    def visit(self, query="") -> str:
        """Open a page and keep its cookie; return the id of its kernel."""
        _, headers, content = self.ask(f"/{query}")
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return re.search('"kernelId": "([^"]+)"', content)[1]

    def socket(self, path, messages=(), *, protocol=None, until="kernel_info_reply", headers=None):
        """Open a socket, send messages and last a kernel_info_request; return the answers up to
        that with ``until``.
        """

        async def talk():
            request = HTTPRequest(f"ws://127.0.0.1:{self.port}{path}", headers=headers)
            socket = await websocket_connect(request, subprotocols=[protocol] if protocol else None)
            answers = []
            for message in [*messages, ("kernel_info_request", "shell", {})]:
                await socket.write_message(*_framed(message, protocol))
            while (answer := await asyncio.wait_for(socket.read_message(), 60)) is not None:
                answers.append(answer if isinstance(answer, str) else answer.decode("latin-1"))
                if until in answers[-1]:
                    break
            socket.close()
            return answers

        return asyncio.run(talk())

    def refused(self, path, headers: dict[str, str] | None = None) -> int:
        try:
            self.socket(path, headers=headers)
        except HTTPClientError as refused:
            return refused.code
        return 200


def _framed(message, protocol) -> tuple[bytes | str, bool]:
    kind, channel, content = message
    header = {
        "msg_id": uuid.uuid4().hex,
        "username": "",
        "session": "x",
        "msg_type": kind,
        "version": "5.3",
    }
    header["date"] = "2026-01-01T00:00:00Z"
    if protocol is None:
        whole = {
            "header": header,
            "parent_header": {},
            "metadata": VERSION,
            "content": content,
            "channel": channel,
        }
        return json.dumps(whole | {"buffers": []}), False
    parts = [
        channel.encode(),
        *(json.dumps(part).encode() for part in (header, {}, VERSION, content)),
    ]
    offsets = []
    at = 8 * (len(parts) + 2)
    for part in parts:
        offsets.append(at)
        at += len(part)
    numbers = [len(parts) + 1, *offsets, at]
    return b"".join(n.to_bytes(8, "little") for n in numbers) + b"".join(parts), True


@pytest.fixture(scope="module", params=["", SECRET], ids=["no token", "token"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": []}
    cell["source"] = "import ipywidgets\nipywidgets.Image(value=b'x' * 1000)"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = folder / "page.ipynb"
    notebook.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]})
    )
    server = Server(free_port(), folder / "log")
    arguments, environment, temporary = command(
        "127.0.0.1", server.port, request.param or None, notebook=notebook, pages=2
    )
    with temporary, server.log.open("wb") as log:
        process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log, cwd=folder)
        try:
            until = time.monotonic() + PATIENCE
            while not server.answers():
                assert process.poll() is None, server.log.read_text()
                assert time.monotonic() < until, server.log.read_text()
                time.sleep(0.2)
            server.kernel = server.visit("?token=s3cret%2Ftoken")
            server.secret = bool(request.param)
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.parametrize("protocol", [None, PROTOCOL])
def test_a_visitor_may_send_widget_messages_only(server, protocol, tmp_path):
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').write('x')"
    content = {"code": code, "silent": False, "cursor_pos": 3, "user_expressions": {"a": code}}
    kinds = (
        "execute_request",
        "inspect_request",
        "complete_request",
        "EXECUTE_REQUEST",
        "history_request",
    )
    messages = [(*way, content) for way in product(kinds, ("shell", "control"))]
    messages += [
        (
            "debug_request",
            "control",
            {"type": "request", "command": "evaluate", "arguments": {"expression": code}},
        ),
        ("interrupt_request", "control", {}),
        ("input_reply", "stdin", {"value": code}),
        (
            "comm_open",
            "shell",
            {"comm_id": "c", "target_name": "os", "target_module": "os", "data": {}},
        ),
        ("comm_msg", "shell", {"comm_id": "nix", "data": {"method": "custom", "content": code}}),
        (
            "comm_open",
            "shell",
            {"comm_id": "d", "target_name": "jupyter.widget", "data": {"state": {"_esm": code}}},
        ),
    ]
    token = "?token=s3cret%2Ftoken"
    answers = server.socket(
        f"/api/kernels/{server.kernel}/channels{token}", messages, protocol=protocol
    )
    assert "kernel_info_reply" in answers[-1]  # the kernel answers what is allowed
    assert not [
        answer
        for answer in answers
        if re.search("(execute|inspect|complete|history|debug)_reply", answer)
    ]
    assert not mark.exists()


@pytest.mark.parametrize("protocol", [None, PROTOCOL])
def test_states_with_buffers_reach_clients_of_both_protocols(server, protocol):
    messages = [
        (
            "comm_open",
            "shell",
            {"comm_id": "s", "target_name": "jupyter.widget.control", "data": {}},
        ),
        ("comm_msg", "shell", {"comm_id": "s", "data": {"method": "request_states"}}),
    ]
    path = f"/api/kernels/{server.kernel}/channels?token=s3cret%2Ftoken"
    answers = server.socket(path, messages, protocol=protocol, until="update_states")
    assert "x" * 1000 in answers[-1]
    assert server.answers()


def test_sockets_of_other_sites_and_names_are_refused(server):
    path = f"/api/kernels/{server.kernel}/channels"
    cookie = {"Cookie": server.cookie}
    assert server.refused(path, cookie | {"Origin": "http://evil.example"}) == 403
    assert server.refused(path, cookie) == 200
    if not server.secret:  # a name of another site that resolves to 127.0.0.1
        evil = {
            "Host": f"evil.example:{server.port}",
            "Origin": f"http://evil.example:{server.port}",
        }
        assert server.refused(path, evil) == 403
        assert server.ask("/", headers={"Host": "evil.example"})[0] == 403


def test_kernels_are_not_listed_and_guessed_ones_do_not_exist(server):
    token = "?token=s3cret%2Ftoken"
    for path in (
        "kernels",
        "sessions",
        "contents",
        "terminals",
        "status",
        "kernelspecs",
        "me",
        "config/x",
    ):
        assert server.kernel not in server.ask(f"/api/{path}{token}")[2]
        assert server.ask(f"/voila/files/api/{path}{token}")[0] == 403
    assert server.ask(f"/api/kernels/{uuid.uuid4()}{token}")[0] == 404
    assert server.refused(f"/api/kernels/{uuid.uuid4()}/channels{token}") == 404
    assert server.refused(f"/voila/query/{server.kernel}") != 200
    for method, path in (
        ("POST", ""),
        ("DELETE", f"/{server.kernel}"),
        ("POST", f"/{server.kernel}/restart"),
    ):
        assert server.ask(f"/api/kernels{path}", method)[0] in (403, 405)
    closing = f"/voila/api/shutdown/{server.kernel}"
    assert server.ask(closing, "POST")[0] == 403
    other = {"Origin": "https://other.example", "Cookie": server.cookie}
    assert server.ask(closing, "POST", headers=other)[0] == 403


def test_a_page_that_is_closed_ends_its_kernel(server):
    kernel = server.visit("?token=s3cret%2Ftoken")
    own = {"Cookie": server.cookie, "Origin": f"http://127.0.0.1:{server.port}"}
    for _ in range(2):  # also where the kernel has ended
        closing = f"/voila/api/shutdown/{kernel}"
        assert server.ask(closing, "POST", headers=own)[0] == 204
    assert server.ask(f"/api/kernels/{kernel}", headers=own)[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/voila/files/page.ipynb",
        "/voila/files/..%2f..%2fetc/passwd",
        "/voila/static/../../../etc/passwd",
        "/voila/templates/..%2f..%2fetc/passwd/x",
        "/voila/labextensions/../../../../etc/passwd",
        "/voila/api/themes/..%2f..%2f..%2fetc/passwd",
    ],
)
def test_files_are_not_served(server, path):
    status, _, content = server.ask(f"{path}?token=s3cret%2Ftoken")
    assert status >= 400
    assert "root:" not in content
    assert "nbformat" not in content


def test_one_page_more_than_allowed_is_refused_and_tells_why(server):
    token = "?token=s3cret%2Ftoken"
    page = server.ask(f"/{token}&voila-template=lab&voila-theme=dark")[2]
    assert (
        "kernelId" in page and "unpkg" not in page and "jsdelivr" not in page
    )  # nor does a visitor choose a template
    status, _, content = server.ask(f"/{token}")
    assert status == 503
    assert "all 2 pages of this server are in use" in content
    assert server.refused(f"/api/kernels/{server.kernel}/channels{token}") == 200


def test_without_the_token_nothing_answers(server):
    if not server.secret:
        pytest.skip("no token")
    for token in (
        "",
        "?token=wrong",
        "?token=s3cret",
        "?token=s3cret/tokem",
        "?token=%00",
        "?token=%ff",
    ):
        assert server.refused(f"/api/kernels/{server.kernel}/channels{token}") in (400, 403), token
        assert server.ask(f"/api/kernels/{server.kernel}{token}")[0] in (400, 403)
        assert "kernelId" not in server.ask(f"/{token}")[2]
    assert server.ask("/", headers={"Authorization": "Bearer wrong"})[0] == 302
    assert server.ask("/", headers={"Cookie": "username-127-0-0-1-8888=x"})[0] == 302


def test_a_visitor_sets_no_password(server):
    if not server.secret:
        pytest.skip("no token")
    status, headers, _ = server.ask("/login")
    assert status == 200
    cookie = headers["Set-Cookie"].split(";")[0]
    xsrf = cookie.partition("=")[2]
    body = f"_xsrf={xsrf}&password=s3cret%2Ftoken&new_password=mine"
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    # The token lets in, without its page.
    assert server.ask("/login", "POST", body, kind)[0] == 302
    wrong = server.ask("/login", "POST", body.replace("s3cret", "x"), kind)
    assert wrong[0] != 302
    assert server.ask("/login", "POST", f"_xsrf={xsrf}&password=mine", kind)[0] != 302
    assert not list(server.log.parent.glob("*.json"))


def test_the_token_is_not_in_the_log_nor_in_the_environment_of_kernels(server):
    if not server.secret:
        pytest.skip("no token")
    import psutil

    server.ask("/voila/files/none?token=s3cret%2Ftoken")
    server.ask("/voila/templates/x?token=s3cret/token")
    log = server.log.read_text()
    assert "token=[token]" in log
    assert "s3cret/token" not in log
    assert "s3cret%2Ftoken" not in log
    kernels = []
    for child in psutil.Process().children(recursive=True):
        if "ipykernel_launcher" in " ".join(child.cmdline()):
            kernels.append(child)
    assert kernels
    for process in (*kernels, *psutil.Process().children()):
        words = [*process.cmdline(), *process.environ().values()]
        assert not [word for word in words if re.search("s3cret(/|%2F)token", word)], process
