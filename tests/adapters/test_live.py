"""A request streamed from a server: a stub on this machine that answers in the forms of the engines."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hsd_viz.adapters import live
from hsd_viz.adapters.live import LiveRequest
from hsd_viz.cli import main
from hsd_viz.trace import Trace

TIMINGS = {"prompt_ms": 20.0, "predicted_ms": 80.0, "predicted_n": 6, "draft_n": 8, "draft_n_accepted": 4}
SPEC = {"num_spec_steps": 2, "num_draft_tokens": 8, "num_accepted_draft_tokens": 4, "completion_tokens": 6}
SPEC |= {"per_step_accepted": [3, 1], "per_step_drafted": [4, 4]}
WORDS = ("def", " f", "(x):", "\x1b[31m\n")


def events(form: str, chat: bool) -> list[dict]:
    """The chunks of an engine's stream."""
    name = (lambda text: {"delta": {"content": text}}) if chat else (lambda text: {"text": text})
    found = [{"choices": [name(text) | {"finish_reason": None}]} for text in WORDS]
    found[-1]["choices"][0]["finish_reason"] = "length"
    last = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 6}}
    if form == "llama.cpp":
        found[-1]["timings"] = TIMINGS
    if form == "vllm":
        last["metrics"] = {"speculative_decoding": SPEC}
    return [*found, last]


class Stub(BaseHTTPRequestHandler):
    form, asked = "plain", []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body, self.headers.get("Authorization")))
        if self.form == "refused":
            self._answer(404, "application/json", b'{"error": {"message": "no\\nmodel \\u001b[31m x"}}')
            return
        if self.form == "page":
            self._answer(200, "text/html", b"<html>hello</html>")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if self.form == "error":
            self.wfile.write(b'data: {"error": {"message": "out of memory"}}\n\n')
            return
        for event in events(self.form, "messages" in body):
            self.wfile.write(b": a comment\ndata: " + json.dumps(event).encode() + b"\n\n")
            self.wfile.flush()
            time.sleep(0.02)
        if self.form == "damaged":
            self.wfile.write(b'data: {"choices": [\n\n')
        self.wfile.write(b"data: [DONE]\n\ndata: never read\n\n")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def fresh():
    Stub.form = "plain"
    Stub.asked.clear()


@pytest.mark.parametrize("chat", [False, True])
def test_text_comes_as_it_is_sent_and_times_are_those_of_its_arrival(url, chat):
    request = LiveRequest(f"{url}/v1/", "def", chat, "secret", {"max_tokens": 6})
    seen = []
    for text in request:
        seen.append((text, len(request.chunks)))
    assert seen == [(text, k + 1) for k, text in enumerate(WORDS)]
    path, body, key = Stub.asked[0]
    assert path == ("/v1/chat/completions" if chat else "/v1/completions") and key == "Bearer secret"
    assert body["stream"] is True and body["max_tokens"] == 6
    assert body.get("prompt", body.get("messages")) == ([{"role": "user", "content": "def"}] if chat else "def")
    trace = request.trace()
    times = [at for at, _ in request.chunks]
    assert times == sorted(times) and times[-1] - times[0] > 40e6
    meta = trace.meta
    assert (meta["prefill_ns"], meta["wall_ns"]) == (times[0], times[-1]) and meta["stop_reason"] == "length"
    assert meta["counts"] == {"tokens": 6} and not trace.round_rows
    assert {"prefill", "time"} <= set(meta["imported"]["derived"])
    assert {"verifications", "drafted", "accepted", "rounds"} <= set(meta["imported"]["not_observed"])
    assert trace.metrics()["tokens_per_second"] == pytest.approx(6 / (times[-1] - times[0]) * 1e9)
    found = request.arrivals()
    assert found["first_ms"] == times[0] / 1e6 and found["gap_ms"] <= found["gap_p99_ms"]


def test_the_servers_own_record_is_imported(url, tmp_path, capsys):
    Stub.form = "llama.cpp"
    out = tmp_path / "run.json.gz"
    command = ["import", url, "--prompt", "def", "--max-new-tokens", "6", "--temperature", "0.5", "--model", "m"]
    assert main([*command, "--save", str(out)]) == 0
    printed = capsys.readouterr()
    # Escapes of a server do not reach the terminal.
    assert printed.out == f"def f(x):\ufffd[31m\n\n{out}\n" and "4 chunks; first text" in printed.err
    assert Stub.asked[0][1]["model"] == "m" and Stub.asked[0][1]["temperature"] == 0.5
    trace = Trace.load(out)
    assert trace.meta["imported"]["engine"] == "llama.cpp" and trace.meta["prefill_ns"] == 20_000_000
    assert trace.metrics()["accepted"] == 4 and trace.meta["wall_ns"] == 100_000_000
    assert [text for _, text in trace.meta["chunks"]] == list(WORDS)
    Stub.form = "vllm"
    request = LiveRequest(url, "def")
    list(request)
    assert [(row.drafted, row.accepted) for row in request.trace().round_rows] == [(4, 3), (4, 1)]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("refused", "refused the request: 404 Not Found: no model \ufffd[31m x"),
        ("page", "did not stream a completion"),
        ("error", "reports an error: out of memory"),
        ("damaged", 'the stream is damaged: {"choices": ['),
    ],
)
def test_bad_answers_are_one_line(url, capsys, form, words):
    Stub.form = form
    assert main(["import", url, "--prompt", "def"]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said and "\n" not in said and "Traceback" not in said


def test_bad_usage_is_one_line(capsys, tmp_path):
    for command, words in (
        (["import", "http://127.0.0.1:1", "--prompt", "x"], "the connection to http://127.0.0.1:1 failed"),
        (["import", "http://127.0.0.1:1"], "needs --prompt"),
        (["import", "ftp://127.0.0.1", "--prompt", "x"], "is not the address of a server"),
        (["import", str(tmp_path / "x"), "--prompt", "x"], "--prompt needs the address"),
    ):
        assert main(command) == 2
        assert words in capsys.readouterr().err


def test_an_interrupted_request_keeps_what_arrived(url, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(live, "printable", lambda text: (_ for _ in ()).throw(KeyboardInterrupt))
    out = tmp_path / "run.json.gz"
    assert main(["import", url, "--prompt", "def", "--save", str(out)]) == 130
    trace = Trace.load(out)
    assert [text for _, text in trace.meta["chunks"]] == ["def"] and trace.meta["stop_reason"] == "cancelled"
    assert "1 chunk; first text" in capsys.readouterr().err
