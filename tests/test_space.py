"""The container of the static site: it copies what it needs, and its server sends files only."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml

from tests.patience import PATIENCE
from tests.test_setup import PROJECT, PYPROJECT, ROOT

SPACE = ROOT / "deploy" / "space"


def test_the_image_copies_what_a_build_and_the_server_read():
    text = (SPACE / "Dockerfile").read_text()
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M)
    copied = set(" ".join(copies).split())
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    read = {"pyproject.toml", "hatch_build.py", PROJECT["readme"], *PROJECT["license-files"]}
    read |= {*wheel["packages"], *wheel["force-include"], "constraints.txt", "docs/bench"}
    assert copied == read | {"deploy/space/serve.py"}
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in copied} <= set(allowed)


def test_the_space_declares_the_port_of_its_server():
    head = (SPACE / "README.md").read_text().split("---")[1]
    facts = yaml.safe_load(head)
    assert facts["sdk"] == "docker"
    assert f"PORT = {facts['app_port']}" in (SPACE / "serve.py").read_text()
    assert f"EXPOSE {facts['app_port']}" in (SPACE / "Dockerfile").read_text()


@pytest.fixture
def served(tmp_path):
    """Serve a folder with a page, a module, and a folder without a page."""
    site = tmp_path / "site"
    (site / "runtime").mkdir(parents=True)
    (site / "index.html").write_text("<p>page")
    (site / "runtime" / "x.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret").write_text("secret")
    command = [sys.executable, str(SPACE / "serve.py"), str(site), "0", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(PATIENCE)


def status_of(address: str, method: str = "GET") -> int:
    """Return the status of a request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method=method)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_server_sends_files_and_nothing_else(served):
    with urllib.request.urlopen(f"{served}runtime/x.wasm") as answer:
        assert answer.headers["Content-Type"] == "application/wasm"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert status_of(served) == 200
    assert status_of(f"{served}runtime/") == 404
    assert status_of(f"{served}../secret") == 404
    assert status_of(f"{served}%2e%2e/secret") == 404
    assert status_of(served, "POST") == 501
