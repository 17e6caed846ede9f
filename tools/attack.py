"""Attack every door by which data of strangers enters, with damaged and hostile inputs.

``python -m tools.attack [--count N] [--seed N] [--seconds N] [--door NAME ...]`` prints, by door,
how many inputs were tried, refused with one line, and opened, and how many ended in another
exception (uncaught) or ended the process (crashed). Exit code 1: an input was uncaught or crashed;
its door, number and error are listed, and ``--door NAME --only NUMBER`` repeats it. Each door works
in a process of its own, with a limit of memory; servers listen on 127.0.0.1 and end with it.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
_JSON_TYPES = ("application/json", "APPLICATION/JSON")
#: Inputs of each door, and the most seconds for one door.
COUNT = 130
SECONDS = 240
#: The most bytes of memory of the process of a door.
MEMORY = 6 * 2**30
SCRIPT = "</script><img src=x onerror=alert(1)>"
#: Values that replace others.
WRONG: list[Any] = [
    *(10**30, -(2**63), 2**63, 2**31, -1, 0, 1.5, 1e999, float("nan"), None, True, [], {}),
    *("", SCRIPT, "\ud800", "\0", "9" * 5000, "x" * 10_000, "/etc/passwd", "../../etc/passwd"),
    *([[[]]], [0] * 1000, {"a": {"a": {}}}, [None], "nan", "-1", "1e5"),
]
#: Contents of no valid file of any kind.
NOTHING = (
    *(b"", b"{", b"[]", b"{}", b"null", b"9" * 5000, b"[" * 100_000, b'{"a":' * 100_000),
    *(b"\xff\xfe" * 50, b"\0" * 1000, b"PK\x03\x04", gzip.compress(b"[" * 1_000_000)),
    *(gzip.compress(gzip.compress(b"{}")), b"\x1f\x8b\x08" + b"x" * 50, b"-1", b"NaN", b'"x"'),
)
#: Does something with an input. A UserError refuses it; any other exception is a fault.
Attempt = Callable[[bytes], Any]


# --- inputs ---------------------------------------------------------------------------------------


def places(data: Any, path: tuple = ()) -> Iterator[tuple]:
    """Yield the places of all values, of lists the first three."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data[:3]):
            yield from places(value, (*path, index))
    yield path


def with_value(data: Any, path: tuple, value: Any) -> Any:
    """Return a copy of data with another value at a place."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = with_value(data[path[0]], path[1:], value)
    return copy


def without(data: Any, path: tuple) -> Any:
    """Return a copy of data without the value at a place."""
    copy = data.copy()
    if len(path) > 1:
        copy[path[0]] = without(data[path[0]], path[1:])
    else:
        del copy[path[0]]
    return copy


def damaged_data(data: Any, chance: random.Random) -> Any:
    """Return data with one to three values replaced or left out."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path = chance.choice([*places(data)])
        value = chance.choice(WRONG)
        removes = path and chance.random() < 0.2
        data = without(data, path) if removes else with_value(data, path, value)
        if not isinstance(data, dict | list):
            break
    return data


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some changed, cut, doubled or inserted."""
    content = bytearray(content)
    for _ in range(chance.choice((1, 2, 8, 64))):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    at = chance.randrange(len(content) + 1)
    kind = chance.randrange(4)
    if kind == 0:
        return bytes(content[:at])
    if kind == 1:
        return bytes(content[:at] + content[max(0, at - 100) :])
    if kind == 2:
        return bytes(content[:at] + chance.randbytes(20) + content[at:])
    return bytes(content)


def damaged_json(data: Any, chance: random.Random) -> bytes:
    """Return a damaged JSON file, or something else in its place."""
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(NOTHING)
    if kind < 0.25:
        return damaged_bytes(json.dumps(data).encode(), chance)
    content = json.dumps(damaged_data(data, chance)).encode()
    return gzip.compress(content) if kind > 0.95 else content


# --- doors ----------------------------------------------------------------------------------------


class Door:
    """A way in.

    Attributes:
        make: Returns an input for a random number generator.
        attempt: Gives it to the door.
    """

    def __init__(self, make: Callable[[random.Random], bytes], attempt: Attempt) -> None:
        self.make = make
        self.attempt = attempt


def command(folder: Path, name: str, *words: str) -> Attempt:
    """Return the attempt of a command; FILE among its words is the input, a file of this name."""

    def attempt(content: bytes) -> None:
        from hsd_viz.cli import main

        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main([word.replace("FILE", str(path)) for word in words])
        message = said.getvalue()
        if code == 2 and message.count("\n") == 1 and "Traceback" not in message:
            raise UserError(message)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {message[-300:]}")

    return attempt


def _trace() -> Any:
    from hsd_viz.engine.replay import bundled, load_bundled

    return load_bundled(bundled()[0].name)


def trace_files(folder: Path) -> Door:
    """Traces that a page opens."""
    from hsd_viz.views.run_data import read_trace

    trace = _trace()
    data = trace.to_dict()
    packed = trace.to_bytes()

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.2:
            return damaged_bytes(packed, chance)
        return damaged_json(data, chance)

    return Door(make, lambda content: read_trace(content, "run.json"))


def trace_commands(folder: Path) -> Door:
    """Traces of a command."""
    made = trace_files(folder).make
    return Door(made, command(folder, "run.json", "doctor", "FILE"))


def database_files(folder: Path) -> Door:
    """Databases: the header is damaged and signed again, or any bytes are changed."""
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.drafting.index.read import Index
    from hsd_viz.models.families import LADDER

    whole = (LADDER / "databases" / "model.hsdb").read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:begin])
    tensors = whole[begin:]

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        if chance.random() < 0.2:
            return damaged_bytes(whole, chance)
        head = json.loads(json.dumps(header))
        body = tensors
        facts = json.loads(head["__metadata__"]["facts"])
        if chance.random() < 0.6:
            facts = damaged_data(facts, chance)
        elif chance.random() < 0.5:
            head = damaged_data(head, chance)
        else:
            changed = bytearray(body)
            for _ in range(200):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            body = bytes(changed)
        about = head.get("__metadata__") if isinstance(head, dict) else None
        if isinstance(about, dict):
            about |= {"checksum": "0" * 8, "tensors": f"{zlib.crc32(body):08x}"}
            about["facts"] = json.dumps(facts)
        text = json.dumps(head).encode()
        text = text.replace(b"0" * 8, f"{zlib.crc32(text):08x}".encode(), 1)
        return len(text).to_bytes(8, "little") + text + body

    def attempt(content: bytes) -> None:
        path = folder / "model.hsdb"
        path.write_bytes(content)
        index = Index(path)
        for number in range(0, 4096, 64):
            found = index.lookup(chr(number) + chr(number + 1))
            if found and any(not 0 <= token < index.limit for token, *_ in found[2]):
                raise RuntimeError("a token outside the vocabulary")
        describe(path, 3)

    return Door(make, attempt)


def tokenizer_files(folder: Path) -> Door:
    """Tokenizers of a replay; one in eight goes to a process."""
    from hsd_viz.models.families import CODE
    from hsd_viz.models.tokenizer_file import open_tokenizer
    from hsd_viz.models.tokenizer_process import TokenizerProcess

    data = json.loads((CODE.path("target") / "tokenizer.json").read_text())
    steps = [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10},
        {"type": "Replace", "pattern": {"Regex": "(a|a)*b"}, "content": "x"},
        {"type": "Prepend", "prepend": "x" * 10**6},
        {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        {"type": "FixedLength", "length": 0},
        {"type": "Sequence", "normalizers": [], "pretokenizers": [], "processors": []},
    ]
    counted = 0

    def make(chance: random.Random) -> bytes:
        own = dict(data)
        for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "padding"):
            if chance.random() < 0.1:
                own[part] = chance.choice([*steps, *WRONG])
            elif isinstance(own.get(part), dict) and chance.random() < 0.2:
                own[part] = damaged_data(own[part], chance)
        kind = chance.random()
        if kind < 0.1:
            return chance.choice(NOTHING)
        if kind < 0.3:
            small = {key: value for key, value in own.items() if key != "model"}
            model = dict(own["model"]) | {chance.choice([*own["model"]]): chance.choice(WRONG)}
            changed = damaged_data(small, chance)
            own = {**changed, "model": model} if isinstance(changed, dict) else changed
        return json.dumps(own).encode()

    def attempt(content: bytes) -> None:
        nonlocal counted
        path = folder / "tokenizer.json"
        path.write_bytes(content)
        counted += 1
        if counted % 8:
            open_tokenizer(path)
            return
        process = TokenizerProcess(path)
        try:
            process.encode("a" * 2000 + " b é def")
        finally:
            process.close()

    return Door(make, attempt)


LOG = [
    {"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6] * 9, "max_new_tokens": 64},
    {"prompt": "def f():", "output": "return 1"},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"request": {"prompt": "a"}, "response": {"choices": [{"text": "b"}]}},
    {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
]


def _lines(data: list, chance: random.Random) -> bytes:
    if chance.random() < 0.15:
        return damaged_json(data, chance)
    return b"\n".join(damaged_json(row, chance) for row in data)


def logs(folder: Path) -> Door:
    """Logs of a replay."""
    words = ("replay", "FILE", "--tokenizer", "target", "--drafter", "lookup")
    return Door(lambda chance: _lines(LOG, chance), command(folder, "log.jsonl", *words))


def records(folder: Path) -> Door:
    """Records of serving engines."""
    files = [path for path in (ROOT / "tests" / "records" / "files").iterdir() if path.is_file()]
    importing = command(folder, "record", "import", "FILE")
    diagnosing = command(folder, "record", "doctor", "FILE")

    def make(chance: random.Random) -> bytes:
        content = chance.choice(files).read_bytes()
        if chance.random() < 0.5:
            return damaged_bytes(content, chance)
        with contextlib.suppress(ValueError):
            rows = [json.loads(line) for line in content.splitlines() if line.strip()]
            return _lines(rows[:4], chance)
        return damaged_bytes(content, chance)

    def attempt(content: bytes) -> None:
        with contextlib.suppress(UserError):
            importing(content)
        diagnosing(content)

    return Door(make, attempt)


def plans(folder: Path) -> Door:
    """Plans, reports, profiles and tables of costs."""
    from hsd_viz.engine.forwards import Costs
    from hsd_viz.latency.basis import basis_of, own_plan
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.doctor.profile import read_profile
    from hsd_viz.models.families import LADDER
    from hsd_viz.views.page_data import saved_reports

    profile = {
        "marginal_accept_rates": [0.8, 0.6],
        "mean_accept_length": 2.4,
        "acceptance_length_histogram": {"1": 5, "3": 9},
        "measured": True,
    }
    report = json.loads(next(iter(saved_reports().values())).read_bytes())
    path = folder / "plan.json"

    def plan(content: bytes) -> None:
        path.write_bytes(content)
        basis_of(path)

    def profiled(content: bytes) -> None:
        path.write_bytes(content)
        read_profile(path)

    def costs(content: bytes) -> None:
        path.write_bytes(content)
        Costs(str(path))

    shipped = json.loads((LADDER / "costs.json").read_text())
    shown = command(folder, "report.json", "bench", "--from", "FILE")
    kinds: list[tuple[Any, Attempt]] = [
        (own_plan(0.0), plan),
        (profile, profiled),
        (report, lambda content: read_report(content, "report.json")),
        (report, shown),
        (shipped, costs),
    ]

    def make(chance: random.Random) -> bytes:
        which = chance.randrange(len(kinds))
        return bytes([which]) + damaged_json(kinds[which][0], chance)

    return Door(make, lambda content: kinds[content[0]][1](content[1:]))


def configs(folder: Path) -> Door:
    """The ``config.json`` of a model: of a prediction, and of a model that is loaded."""
    from hsd_viz.models.families import CODE

    own = json.loads((CODE.path("nano") / "config.json").read_text())
    llama = {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
        "num_experts": 8, "num_experts_per_tok": 2, "sliding_window": 4096, "layer_types": ["a"],
        "speculators_config": {"proposal_methods": [{"speculative_tokens": 3}]},
    }  # fmt: skip
    words = ("predict", "--gpu", "H100", "--models", "FILE")
    predicting = command(folder, "model/config.json", *words)

    def loading(content: bytes) -> None:
        from hsd_viz.native.weights import load

        model = folder / "loaded"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_bytes(content)
        weights = model / "model.safetensors"
        if not weights.exists():
            weights.symlink_to(CODE.path("nano") / "model.safetensors")
        for _ in load(model, "int8").items():
            pass

    def make(chance: random.Random) -> bytes:
        which = chance.randrange(2)
        return bytes([which]) + damaged_json((llama, own)[which], chance)

    return Door(make, lambda content: (predicting, loading)[content[0]](content[1:]))


def safetensors_files(folder: Path) -> Door:
    """The weights of a model."""
    from hsd_viz.models.families import CODE
    from hsd_viz.native.weights import load

    source = CODE.path("nano")
    (file,) = source.glob("*.safetensors")
    whole = file.read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:begin])

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        if chance.random() < 0.3:
            return damaged_bytes(whole[:begin], chance) + whole[begin:]
        own = header if chance.random() < 0.1 else damaged_data(header, chance)
        text = json.dumps(own).encode()
        return len(text).to_bytes(8, "little") + text + whole[begin:]

    def attempt(content: bytes) -> None:
        (folder / "config.json").write_bytes((source / "config.json").read_bytes())
        (folder / "model.safetensors").write_bytes(content)
        for _ in load(folder, "int8").items():
            pass

    return Door(make, attempt)


def gguf_files(folder: Path) -> Door:
    """The metadata of a GGUF file: a model's form and tokenizer. The tensors are zeros."""
    from hsd_viz.models.families import find_family
    from hsd_viz.models.files import open_model
    from hsd_viz.models.gguf import GGUFFile

    try:
        source = Path(find_family("smollm2").path("target"))
    except UserError:
        return Door(lambda chance: b"", lambda content: None)  # the package is not installed
    begin = min(tensor.start for tensor in GGUFFile(source).tensors.values())
    size = source.stat().st_size
    with source.open("rb") as file:
        head = file.read(begin)
    path = folder / "model.gguf"

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        changed = bytearray(head)
        # Most of the head is the vocabulary; the numbers are at both ends of it.
        for _ in range(chance.choice((1, 1, 2, 8))):
            near = chance.choice((200, 3000, len(head)))
            at = chance.randrange(near) if chance.random() < 0.7 else -1 - chance.randrange(near)
            changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        return bytes(changed)

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        if len(content) == begin:
            os.truncate(path, size)
        files = open_model(path)
        files.tokenizer()

    return Door(make, attempt)


def http_requests(folder: Path) -> Door:
    """Bytes to the server of `hsd-viz serve`."""
    import uvicorn

    from hsd_viz.serve import connections
    from hsd_viz.serve.app import Settings, configure, create_app

    # Half a request ends soon.
    connections.HEADER_SECONDS = connections.BODY_SECONDS = 1.0
    faults: list[str] = []

    async def decode(request: dict) -> Any:
        yield [{"event": "finished", "meta": {}}]

    settings = Settings(token="secret", hosts=("*",))
    server = uvicorn.Server(configure(create_app(decode, settings), "127.0.0.1", 0, settings))
    threading.Thread(target=server.run, daemon=True).start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    import logging

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            faults.append(record.getMessage()[-2000:])

    logging.getLogger("uvicorn.error").addHandler(Listening())
    body = {
        "prompt": "x",
        "stack": "db > target",
        "max_new_tokens": 4,
        "temperature": 0.5,
        "seed": 1,
    }
    methods = (*("POST",) * 9, "GET", "PUT", "X" * 9)
    paths = (
        *("/decode",) * 40,
        "/models",
        "/metrics",
        "/",
        "/openapi.json",
        "/health",
        "/../x",
        "/%00",
        "*",
    )

    def make(chance: random.Random) -> bytes:
        content = damaged_json(body, chance)
        if chance.random() < 0.2:
            content = json.dumps(body).encode()
        token = chance.choice((*("secret",) * 9, "x", "\xe9", ""))
        lines = [
            f"{chance.choice(methods)} {chance.choice(paths)} HTTP/1.1",
            f"Host: {chance.choice(('127.0.0.1', '127.0.0.1', 'evil.example', '', 'a' * 500))}",
            f"Authorization: Bearer {token}",
            f"Content-Type: {chance.choice((*_JSON_TYPES * 4, 'text/plain'))}",
            f"Content-Length: {len(content) + chance.choice((0, 0, 0, 0, 0, 0, 0, 5, -1))}",
            f"X-Other: {chance.choice(('', 'x' * 9000, 'a: b'))}",
            "Connection: close",
        ]
        sent = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content
        return damaged_bytes(sent, chance) if chance.random() < 0.3 else sent

    def attempt(content: bytes) -> None:
        faults.clear()
        with socket.create_connection(address[:2], timeout=5) as peer:
            peer.sendall(content)
            answer = b""
            with contextlib.suppress(OSError):
                while part := peer.recv(2**16):
                    answer += part
        if faults or b" 500 " in answer[:20]:
            raise RuntimeError(faults[-1] if faults else "status 500")
        if not answer.startswith(b"HTTP/1.1 2"):
            raise UserError(answer.partition(b"\r\n")[0].decode("latin-1"))

    return Door(make, attempt)


def page_messages(folder: Path) -> Door:
    """Messages of a browser to its kernel."""
    from hsd_viz.views.app.dashboard import KINDS, App
    from hsd_viz.views.run_data import snapshot

    class Page(App):
        def __init__(self) -> None:
            self.sent: list[dict] = []
            super().__init__()

        def send(self, content: Any, buffers: Any = None) -> None:
            json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
            self.sent.append(content)

    page = Page()
    trace = _trace()
    kept = snapshot(trace, "kept")
    page._keep(trace, "kept")
    log = b'{"prompt_ids": [1, 2], "output_ids": [3, 4]}\n'
    request = {"prompt": "x", "stack": "db > target", "max_new_tokens": 2, "temperature": 0.5}
    asking = {"kind": "ask", "run": "kept", "options": {"tokenizer": "own", "drafters": "lookup"}}
    whole = [
        {"kind": "decode", "request": request | {"seed": 1, "rule": "token", "top_k": 3}},
        {"kind": "take", "snapshot": kept},
        {"kind": "open", "names": ["run.json"]},
        {"kind": "recording", "name": "sampled"},
        {"kind": "knows", "run": "kept"},
        *({"kind": "file", "run": "kept", "about": about} for about in ("trace", "page")),
        {"kind": "file", "about": "comparison", "options": {"runs": [kept, kept]}},
        *(asking | {"about": about} for about in ("doctor", "law", "report", "predict")),
        asking | {"about": "replay", "names": ["a.jsonl", "tokenizer.json"]},
        {
            "kind": "ask",
            "about": "predict",
            "options": {"gpu": "H100", "tp": "4", "weights": "fp8"},
        },
    ]

    def make(chance: random.Random) -> bytes:
        data = chance.choice(whole)
        message = damaged_data(data, chance)
        if not isinstance(message, dict):
            message = {"kind": chance.choice(KINDS), "options": message}
        return json.dumps(message).encode()

    def attempt(content: bytes) -> None:
        page.sent.clear()
        message = json.loads(content)
        page._on_message(None, {**message, "id": "1"}, [log, b"{}"])
        until = time.monotonic() + 60
        while page._cancels:
            if time.monotonic() > until:
                raise RuntimeError("no answer within a minute")
            time.sleep(0.001)
        last = page.sent[-1] if page.sent else {"kind": "none"}
        if last["kind"] == "failed" and "fault of hsd-viz" not in last["message"]:
            raise UserError(last["message"])
        if last["kind"] != "done":
            raise RuntimeError(str(last)[:300])

    return Door(make, attempt)


DOORS: dict[str, Callable[[Path], Door]] = {
    "trace files": trace_files,
    "trace commands": trace_commands,
    "database files": database_files,
    "tokenizer files": tokenizer_files,
    "logs": logs,
    "records": records,
    "plans and profiles": plans,
    "config.json": configs,
    "safetensors": safetensors_files,
    "GGUF files": gguf_files,
    "HTTP requests": http_requests,
    "page messages": page_messages,
}


# --- the attack -----------------------------------------------------------------------------------


def outcome(door: Door, content: bytes) -> tuple[str, str]:
    """Return how an attempt ended, and the error of a fault."""
    try:
        door.attempt(content)
    except UserError as refused:
        message = str(refused).strip()
        return (
            ("uncaught", f"a message of lines: {message[:200]}")
            if "\n" in message
            else ("refused", "")
        )
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # a panic of a library is one, too
        return "uncaught", f"{type(fault).__name__}: {str(fault)[:400]}"
    return "opened", ""


def attack(
    name: str, count: int, seed: int = 0, seconds: float = SECONDS, only: int | None = None
) -> Iterator[tuple[int, str, str]]:
    """Yield number, outcome and error of the inputs of a door, until ``seconds`` have passed."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="hsd-viz-attack-") as folder:
        door = DOORS[name](Path(folder))
        for number in range(count) if only is None else [only]:
            chance = random.Random(f"{name} {seed} {number}")
            yield number, *outcome(door, door.make(chance))
            if time.monotonic() > until:
                return


def _inside(args: argparse.Namespace) -> None:
    """Attack one door and print outcomes as JSON lines."""
    if os.name == "posix":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    output = os.fdopen(os.dup(1), "w")
    for result in attack(args.door[0], args.count, args.seed, args.seconds, args.only):
        print(json.dumps(result), file=output, flush=True)


def main() -> int:
    """Attack the doors, each in a process, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="inputs of each door")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most seconds of each door")
    parser.add_argument("--door", action="append", choices=DOORS, help="may be repeated")
    parser.add_argument("--only", type=int, help="the number of one input")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        _inside(args)
        return 0
    kinds = ("refused", "opened", "uncaught", "crashed")
    table: dict[str, Counter[str]] = {}
    faults: list[str] = []
    for name in args.door or DOORS:
        words = ["--door", name, "--count", str(args.count), "--seed", str(args.seed)]
        words += ["--seconds", str(args.seconds), "--inside"]
        words += [] if args.only is None else ["--only", str(args.only)]
        done = subprocess.run(
            [sys.executable, "-m", "tools.attack", *words],
            cwd=ROOT, capture_output=True, text=True, errors="replace",
        )  # fmt: skip
        results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        table[name] = Counter(kind for _, kind, _ in results)
        faults += [
            f"{name} {number}: {error}" for number, kind, error in results if kind == "uncaught"
        ]
        if done.returncode:
            table[name]["crashed"] += 1
            last = results[-1][0] + 1 if results else 0
            faults.append(f"{name} {last}: exit code {done.returncode}: {done.stderr[-600:]}")
        row = table[name]
        print(
            f"{name:20}{row.total():6} tried",
            *(f"{row[kind]:6} {kind}" for kind in kinds),
            flush=True,
        )
    whole = sum(table.values(), Counter())
    print(f"{'all':20}{whole.total():6} tried", *(f"{whole[kind]:6} {kind}" for kind in kinds))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
