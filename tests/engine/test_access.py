"""Test that no request can reach a file by the name of a model, on any of the ways from requests to
files.
"""

from __future__ import annotations

import ast
import os
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

import hsd_viz
from hsd_viz.engine.access import Access, Kind
from hsd_viz.errors import Unsupported
from hsd_viz.views.app import answers, messages
from hsd_viz.views.app.dashboard import App

ROOT = Path(hsd_viz.__file__).parent
#: The package, its reports in a checkout, and Python.
OWN = (ROOT, ROOT.parent / "docs" / "bench", sys.prefix, sys.base_prefix)
LOG = (b'{"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6]}\n', "log.jsonl")
DECODE = {"prompt": "x", "stack": "db > target", "max_new_tokens": 2}
#: Names that reach files, folders or the hub: of what exists, and of what does not.
NAMES = (
    *("/etc/passwd", "/etc/none", "/proc/self/environ", "/", "~", "~/none", "."),
    *("../README.md", "./none", "some/model", "file:///etc/passwd", "target/../../x", "\0", ""),
)


def asking(about: str, name: str):
    """Return a function that writes a question with a visitor's value for a field."""

    def message(value: str) -> dict:
        options = {"drafters": "lookup", name: value}
        return {"kind": "ask", "about": about, "options": options, "names": [LOG[1]] * 2}

    return message


def decoding(name: str, form: str = "{}"):
    def message(value: str) -> dict:
        return {"kind": "decode", "request": DECODE | {name: form.format(value)}}

    return message


def naming(kind: str, name: str = "about"):
    return lambda value: {"kind": kind, name: value}


#: Every field of a message whose text comes from the visitor and reaches more than a comparison.
WAYS = {
    "recording name": naming("recording", "name"),
    "open file name": lambda value: {"kind": "open", "names": [value]},
    "knows run": naming("knows", "run"),
    "ask about": naming("ask"),
    "file about": naming("file"),
    **{
        f"decode {name}": decoding(name)
        for name in ("target", "family", "databases", "stack", "device", "dtype", "rule", "chat")
    },
    "decode draft": decoding("stack", "{} > target"),
    "decode quoted": decoding("stack", '"{}" > target'),
    "decode auto": decoding("stack", "auto[db,{}] > target"),
    **{f"replay {name}": asking("replay", name) for name in ("tokenizer", "drafters", "costs")},
    "replay file name": lambda value: asking("replay", "tokenizer")("own") | {"names": [value] * 2},
    **{f"predict {name}": asking("predict", name) for name in ("gpu", "models", "weights", "tp")},
    **{f"record {name}": asking("record", name) for name in ("model", "engine")},
    "report name": asking("report", "name"),
    "report file name": lambda value: asking("report", "name")("") | {"names": [value]},
}


class Watched:
    """A record of the files, folders and hosts that this process opens."""

    def __init__(self) -> None:
        self.opened: list[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, args: tuple) -> None:
        if self.opened is None:
            return
        if event in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
            self.opened.append(str(args[0]))
            if event == "subprocess.Popen":
                # A process of its own opens what it is given.
                self.opened += [str(word) for word in args[1] if os.sep in str(word)]
        elif event in ("socket.connect", "socket.getaddrinfo"):
            self.opened.append(f"host {args[-1]}")


@pytest.fixture(scope="module")
def watched():
    return Watched()


class Page(App):
    """A page that records the messages that it would send."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        super().__init__()

    def send(self, content, buffers=None):
        self.sent.append(content)

    def ask(self, message: dict, *files: bytes) -> dict:
        """Send a message, and return the last answer."""
        self.sent.clear()
        self._on_message(None, {"id": "1", **message}, list(files))
        until = time.monotonic() + 120
        while self._cancels:
            assert time.monotonic() < until, message
            time.sleep(0.001)
        return self.sent[-1]


@pytest.fixture(scope="module")
def page():
    page = Page()
    # What is imported and loaded once is no answer to a name.
    assert page.ask({"kind": "decode", "request": DECODE})["kind"] == "done"
    for about in answers.TOPICS:
        page.ask({"kind": "ask", "about": about, "options": {"drafters": "lookup"}}, LOG[0])
    return page


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_the_page_reaches_a_file_of_a_visitors_choice(way, page, watched, tmp_path):
    outside = []
    for name in NAMES:
        watched.opened = []
        try:
            answer = page.ask(WAYS[way](name), LOG[0], LOG[0])
        finally:
            opened = watched.opened
            watched.opened = None
        assert answer["kind"] in ("done", "failed")
        assert "fault of hsd-viz" not in answer.get("message", ""), (name, answer)
        outside += [
            (name, path)
            for path in opened
            if "hsd-viz-log-" not in path
            and "hsd-viz-record-" not in path
            and not path.startswith(tuple(map(str, OWN)))
            and path not in (sys.executable, "/dev/null", *sys.path)
            and "hsd_viz/calibration" not in path
            and not path.startswith(("/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/sys/"))
            and not path.isdecimal()
        ]
    assert not outside


@pytest.mark.parametrize("way", ["replay tokenizer", "decode target", "decode databases"])
def test_the_answer_does_not_tell_what_exists(way, page):
    def refusal(name: str) -> str:
        return page.ask(WAYS[way](name), LOG[0])["message"].replace(name, "NAME")

    assert "not allowed" in refusal("/etc/passwd")
    assert refusal("/etc/passwd") == refusal("/etc/none!") == refusal("/proc/self/environ")
    assert refusal("/etc/passwd") == refusal("/root/x")


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("replay tokenizer", "target"),
        ("replay drafters", "lookup"),
        ("replay costs", "free16"),
        ("decode target", "small"),
        ("decode draft", "nano"),
        ("predict gpu", "H200"),
    ],
)
def test_a_way_is_open_for_what_is_offered(way, name, page):
    """A way that ended before the check would prove nothing."""
    answer = page.ask(WAYS[way](name), LOG[0], LOG[0])
    assert answer["kind"] == "done", answer


def fields_read(path: Path) -> set[str]:
    """Return the fields of a message that a module declares or reads by ``get``."""
    fields = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if path.name == "messages.py" and isinstance(node, ast.AnnAssign):
            fields.add(ast.unparse(node.target))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        source = ast.unparse(node.func.value)
        is_message = source.endswith(("message", "options", "request", "content"))
        if node.func.attr == "get" and is_message and isinstance(node.args[0], ast.Constant):
            fields.add(node.args[0].value)
    return fields


def test_all_fields_that_the_page_reads_are_ways():
    """A new kind of request, or a new field, needs an entry in the list above."""
    ways = {tuple(way.split()[:2]) for way in WAYS}
    kinds = {kind for kind, _ in ways} | set(answers.TOPICS)
    assert set(messages.KINDS) - {"take", "plotly"} <= kinds
    # A stack and a run are data of the visitor; the other fields are numbers and booleans.
    harmless = {"id", "kind", "names", "options", "request", "snapshot", "runs", "beside_plain"}
    harmless |= {"prompt", "max_new_tokens", "run", "about", "parent", "example", "token", "text"}
    fields = set(harmless)
    for _, *names in ways:
        fields |= set(names)
    folder = Path(messages.__file__).parent
    read = set()
    for path in (folder / "dashboard.py", folder / "messages.py", *folder.glob("*answers.py")):
        read |= fields_read(path)
    assert read <= fields
    assert {"tokenizer", "databases", "target"} <= read


@pytest.mark.parametrize("kind", get_args(Kind))
def test_the_gate_lets_only_offered_names_pass(kind):
    gate = Access(("nano", "target"))
    for name in NAMES:
        with pytest.raises(Unsupported, match="not allowed"):
            gate.check(kind, name)
        assert Access(None).check(kind, name) == name
    if kind != "databases":
        assert gate.check(kind, "nano") == "nano"
