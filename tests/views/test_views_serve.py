"""Serving: what is refused, and what Voilà is told."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from hsd_viz import serve
from hsd_viz.serve import check_address, command


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "", "192.0.2.1", "example.org", "::"])
def test_another_host_than_loopback_needs_a_token(host):
    with pytest.raises(ValueError, match="give a token"):
        check_address(host, free_port(), None)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_needs_none(host):
    check_address(host, free_port(), None)


def test_a_taken_port_and_one_that_is_none_are_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match="choose another --port"):
            check_address("127.0.0.1", taken.getsockname()[1], None)
    with pytest.raises(ValueError, match="out of range"):
        check_address("127.0.0.1", 0, None)


def test_a_missing_voila_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="hsd-viz\\[app\\]"):
        check_address("127.0.0.1", free_port(), None)


def test_the_token_is_not_on_the_command_line():
    arguments, environment, folder = command("127.0.0.1", 1234, "secret")
    with folder:
        assert not any("secret" in a for a in arguments)
        assert environment["JUPYTER_TOKEN"] == "secret"


def test_the_template_and_the_notebook_are_found(monkeypatch, tmp_path):
    arguments, environment, folder = command("127.0.0.1", 1234, None)
    with folder:
        roots = environment["JUPYTER_PATH"].split(os.pathsep)
        assert (Path(roots[0]) / "voila" / "templates" / "hsd" / "index.html.j2").is_file()
        assert arguments[3] == str(serve.CHECKOUT_NOTEBOOK)
    # As installed from a wheel: no checkout around the package.
    monkeypatch.setattr(serve, "CHECKOUT_NOTEBOOK", tmp_path / "missing.ipynb")
    for allow in (False, True):
        arguments, _, folder = command("127.0.0.1", 1234, None, allow_models=allow)
        with folder:
            notebook = json.loads(Path(arguments[3]).read_text())
            assert f"allow_models={allow}" in notebook["cells"][0]["source"]
        assert not Path(arguments[3]).exists()


def ends_at(url: str) -> str:
    """The path at which a request ends after its redirects, and its status."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return f"{answer.status} {urllib.parse.urlparse(answer.url).path}"
    except urllib.error.HTTPError as refused:
        return f"{refused.code} {urllib.parse.urlparse(refused.url).path}"


def test_with_a_token_nobody_gets_in_without_it(tmp_path):
    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, "s3cret")
    page = f"http://127.0.0.1:{port}/"
    with folder, (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until:
                assert process.poll() is None, (tmp_path / "log").read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.2)
            assert ends_at(page) == "200 /login"
            assert ends_at(f"{page}?token=wrong") == "200 /login"
            assert ends_at(f"{page}?token=s3cret") == "200 /"
        finally:
            process.terminate()
            process.wait(20)
