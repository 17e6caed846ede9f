"""Serving: what is refused, and what Voilà is told."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil
import pytest

from hsd_viz.machine import check_address, free_port
from hsd_viz.views.app import server as voila
from hsd_viz.views.app.server import command
from tests.patience import PATIENCE
from tests.rows import select


def test_hosts_and_ports_that_cannot_be_served_are_one_sentence():
    for host in ("0.0.0.0", "", "192.0.2.1", "example.org", "::"):
        with pytest.raises(ValueError, match="needs a token"):
            check_address(host, free_port(), None)
    for host in ("127.0.0.1", "localhost"):
        check_address(host, free_port(), None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match="choose another `port`"):
            check_address("127.0.0.1", taken.getsockname()[1], None)
    with pytest.raises(ValueError, match="out of range"):
        check_address("127.0.0.1", 0, None)


def test_a_missing_voila_says_what_to_install(monkeypatch):
    monkeypatch.setattr(voila, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="hsd-viz\\[app\\]"):
        voila.serve()


def test_the_template_and_the_notebook_are_found_and_the_token_is_not_on_the_command_line():
    arguments, environment, folder = command("127.0.0.1", 1234, "secret")
    with folder:
        for word in (*arguments, *environment.values()):
            assert "secret" not in word
        file = next(a.partition("=")[2] for a in arguments if a.startswith("--Identity.token_file"))
        assert Path(file).read_text() == "secret"
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(file).parent.stat().st_mode) == 0o700
        roots = environment["JUPYTER_PATH"].split(os.pathsep)
        assert (Path(roots[0]) / "voila" / "templates" / "hsd" / "index.html.j2").is_file()
    for allow in (False, True):
        arguments, _, folder = command("127.0.0.1", 1234, None, allow_models=allow)
        with folder:
            notebook = nbformat.read(arguments[3], as_version=nbformat.NO_CONVERT)
            nbformat.validate(notebook)
            (cell,) = notebook["cells"]
            assert f"allow_models={allow}" in cell["source"]
        assert not Path(arguments[3]).exists()


def test_kernels_have_sockets_of_files_where_their_path_is_short_enough(monkeypatch, tmp_path):
    arguments, _, folder = command("127.0.0.1", 1234, None)
    with folder:
        assert "--KernelManager.transport=ipc" in arguments
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    arguments, _, folder = command("127.0.0.1", 1234, None)
    with folder:
        assert "--KernelManager.transport=ipc" not in arguments


def waits_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.2)
    return condition()


def kernels_of(process: psutil.Process) -> set[int]:
    """The kernels that a server has started and that live."""
    kernels = set()
    for child in process.children(recursive=True):
        if "ipykernel_launcher" in " ".join(child.cmdline()):
            kernels.add(child.pid)
    return kernels


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_kernel_ends_with_its_page_and_never_one_with_an_open_page(tmp_path, monkeypatch):
    from tornado.websocket import websocket_connect

    port = free_port()
    gone = 5
    notebook = tmp_path / "page.ipynb"
    cell = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "1",
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]})
    )
    monkeypatch.setattr(voila, "GONE", gone)
    monkeypatch.setattr(voila, "LOOK", 1)
    arguments, environment, folder = command(
        "127.0.0.1", port, None, preheat=True, notebook=notebook
    )
    # So that a second visitor's kernel is in the pool soon.
    arguments.append("--VoilaKernelManager.fill_delay=0")

    def visit() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
            return re.search(r'"kernelId": "([0-9a-f-]+)"', answer.read().decode()).group(1)

    def lives(name: str) -> bool:
        try:
            urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/kernels/{name}", timeout=PATIENCE
            ).close()
        except urllib.error.HTTPError as missing:
            assert missing.code == 404
            return False
        return True

    async def look() -> None:
        loop = asyncio.get_running_loop()
        stays = await loop.run_in_executor(None, visit)
        page = await websocket_connect(f"ws://127.0.0.1:{port}/api/kernels/{stays}/channels")
        goes = await loop.run_in_executor(None, visit)
        assert await loop.run_in_executor(None, waits_for, lambda: not lives(goes), PATIENCE)

        # The one with a page, and the one without visitor, live on when they are older than that.
        def ages():
            return [time.time() - psutil.Process(pid).create_time() for pid in kernels_of(server)]

        def old():
            return len(ages()) == 2 and min(ages()) > gone + 3

        assert await loop.run_in_executor(None, waits_for, old, PATIENCE)
        assert await loop.run_in_executor(None, lives, stays)
        waiting = await loop.run_in_executor(None, visit)
        assert waiting not in (stays, goes)
        page.close()
        assert await loop.run_in_executor(None, waits_for, lambda: not lives(stays), PATIENCE)

    with folder, (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)
        server = psutil.Process(process.pid)
        try:
            assert waits_for(lambda: answers(port), PATIENCE), (tmp_path / "log").read_text()
            # In a thread of its own: the browser's tests leave a loop running in this one.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, look()).result()
            assert "ping" not in (tmp_path / "log").read_text(), "an open page prints no warning"
        finally:
            process.terminate()
            process.wait(PATIENCE)


@contextmanager
def started(arguments: list[str], log: Path) -> Iterator[psutil.Popen]:
    """Start a command with its output in a file; end it with all that it has started."""
    with log.open("wb") as output:
        process = psutil.Popen(
            arguments,
            stdout=output,
            stderr=output,
            # Background jobs ignore Ctrl-C, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            for child in process.children(recursive=True):
                child.kill()
            process.kill()
        process.wait()


def ends_whole(process: psutil.Popen, name: str, port: int) -> None:
    """Send a signal to a command; it and all that it has started end, without an error."""
    family = process.children(recursive=True)
    assert len(family) >= 2
    process.send_signal(getattr(signal, name))
    assert process.wait(PATIENCE) == 0
    _, left = psutil.wait_procs(family, timeout=PATIENCE)
    assert left == []
    assert not answers(port)


def test_the_server_and_its_kernels_end_with_the_command(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    dashboard = [sys.executable, "-m", "hsd_viz", "dashboard", "--port", str(port)]
    with started(dashboard, log) as process:

        def is_ready() -> bool:
            return answers(port) and len(kernels_of(process)) > 0

        assert waits_for(is_ready, PATIENCE), log.read_text()
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=120).read()
        # No warnings, and of a kernel one port: where it collects the output of subprocesses, not
        # its channels.
        text = log.read_text()
        assert text.count("\n") == text.count("dashboard: ")
        assert "not trusted" not in text
        assert "unencrypted TCP" not in text
        ports = 0
        for child in process.children(recursive=True):
            ports += len(select(child.net_connections(), status="LISTEN"))
        assert ports <= 1 + len(kernels_of(process))
        ends_whole(process, "SIGTERM", port)


#: In place of Voilà: answers on a port and has a child, until SIGTERM.
SERVER = """
import signal, socket, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
        while True:
            listening.accept()[0].close()
except KeyboardInterrupt:
    child.kill()
    child.wait()
"""
#: A dashboard with that server.
COMMAND = """
import sys, tempfile
from hsd_viz.views.app import server

_, port, program = sys.argv
words = [sys.executable, "-c", program, port]
server.command = lambda *_, **options: (words, None, tempfile.TemporaryDirectory())
sys.exit(server.serve(port=int(port)))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of another system")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_server_ends_with_its_command_at_every_signal(name, tmp_path):
    port = free_port()
    command_ = [sys.executable, "-c", COMMAND, str(port), SERVER]
    with started(command_, tmp_path / "log") as process:
        assert waits_for(lambda: answers(port), 60), (tmp_path / "log").read_text()
        ends_whole(process, name, port)
