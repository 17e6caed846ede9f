"""Hostile files: every command that reads one ends with a result or one line, and shows text as
text.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
import zlib
from collections import Counter
from functools import partial

import pytest

from hsd_viz import bundled, load_bundled
from hsd_viz.cli import main
from hsd_viz.measure.bench.report import read_report
from hsd_viz.trace import Trace, TraceError
from hsd_viz.views.app.dashboard import App
from hsd_viz.views.export import run_page
from hsd_viz.views.page_data import saved_reports
from hsd_viz.views.run_data import read_trace
from tests.engine_records import RECORDS, written_by_engines

SCRIPT = "</script><img src=x onerror=alert(1)><script>alert(2)</script>"
NESTED = b'{"a":' * 100_000
#: Values put in the place of others.
WRONG = [
    10**30,
    -(2**63),
    2**63,
    -1,
    0,
    1e999,
    float("nan"),
    "",
    SCRIPT,
    "\ud800",
    "\0",
    "9" * 5000,
]
WRONG += [None, True, [], {}, [[[]]]]


def leaves(data, path=()):
    """Yield the paths of all values, tables as their first row."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data[:2]):
            yield from leaves(value, (*path, index))
    yield path


def changed(data, path, value):
    """Return a copy with one value replaced; the rest is shared."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


def mutants(data, count, seed=0):
    chance = random.Random(seed)
    paths = list(leaves(data))
    for _ in range(count):
        mutant = data
        for _ in range(chance.choice((1, 1, 2))):
            path = chance.choice(paths)
            try:
                mutant = changed(mutant, path, chance.choice(WRONG))
            except (TypeError, KeyError, IndexError, AttributeError):
                continue
        yield json.dumps(mutant).encode()


@pytest.fixture
def one_line(capsys):
    """Run a command; its exit code is 0 or 2, and an error is one line."""

    def run(*argv) -> int:
        code = main(list(map(str, argv)))
        err = capsys.readouterr().err
        assert code in (0, 2), argv
        assert "Traceback" not in err, argv
        if code == 2:
            assert err.count("\n") == 1, err
        return code

    return run


@pytest.fixture(scope="module")
def trace() -> Trace:
    return load_bundled(bundled()[0].name)


def test_changed_reports_are_shown_or_refused(one_line, tmp_path):
    data = json.loads(
        next(
            path for path in saved_reports().values() if path.stem.startswith("heldout")
        ).read_bytes()
    )
    path = tmp_path / "report.json"
    codes = []
    for content in mutants(data, 30):
        path.write_bytes(content)
        codes.append(one_line("bench", "--from", path, "--html", tmp_path / "page.html"))
        codes.append(one_line("doctor", path))
        try:
            read_report(content, "report.json")
        except ValueError as refused:
            assert "\n" not in str(refused)
    assert {0, 2} == set(codes)


@pytest.mark.parametrize("name", [path.name for path in written_by_engines()])
def test_changed_records_of_engines_are_read_or_refused(one_line, name, tmp_path):
    original = (RECORDS / name).read_bytes()
    chance = random.Random(1)
    path = tmp_path / name
    variants = []
    for _ in range(4):
        changed = (b ^ (chance.random() < 0.002) * chance.randrange(256) for b in original)
        variants.append(bytes(changed))
    if name.endswith(".jsonl"):
        data = []
        for line in original.splitlines():
            if line.strip():
                data.append(json.loads(line))
        for mutant in mutants(data, 12):
            if mutant[:1] == b"[":
                rows = [json.dumps(line).encode() for line in json.loads(mutant)]
                variants.append(b"\n".join(rows))
    for content in variants:
        path.write_bytes(content)
        one_line("import", path)
        one_line("doctor", path)


@pytest.mark.parametrize(
    "command",
    [("export", "--csv", "x"), ("doctor",), ("import",), ("bench", "--from"), ("replay",)],
)
def test_nested_and_endless_files_are_refused(one_line, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, content in enumerate(
        (NESTED, b"[" * 200_000, gzip.compress(NESTED), b"9" * 100_000, b"\xff\xfe" * 50)
    ):
        path = tmp_path / f"{number}.json"
        path.write_bytes(content)
        words = [command[0], path, *command[1:]] if command[0] != "bench" else [*command, path]
        one_line(*words)


def bomb(content: bytes, times: int) -> bytes:
    """Return ``content`` so many times in a gzipped file."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(content) for _ in range(times)) + packer.flush()


def test_a_small_file_unpacks_to_a_limited_size(monkeypatch):
    spaces = bomb(b" " * 10_000_000, 10)
    assert len(spaces) < 200_000
    with pytest.raises(
        TraceError,
        match=r"bomb.gz is too large: the maximum for a file of its size is 10 MB unpacked",
    ):
        read_trace(spaces, "bomb.gz")
    monkeypatch.setattr(Trace.from_bytes.__func__, "__defaults__", ("trace", 1_000_000))
    with pytest.raises(
        TraceError, match=r"trace is too large: the maximum for a file of its size is 1 MB unpacked"
    ):
        Trace.from_bytes(spaces)
    with pytest.raises(TraceError, match=r"trace is too large: the maximum is 1 MB"):
        Trace.from_bytes(b" " * 1_000_001)


#: One process: seconds of the processor from its imports on, and the largest memory in MB.
MEASURED = """
import sys, time
from hsd_viz.cli import main
import hsd_viz.trace.trace, hsd_viz.measure.doctor.api, hsd_viz.views.run_data
begun = time.process_time()
code = main(sys.argv[1:])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, time.process_time() - begun, int(peak) / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", [("export", "--csv", "tables"), ("doctor",), ("replay",)])
@pytest.mark.parametrize(
    "content", [b" ", b"[],", b"0,", b'{"a":'], ids=["spaces", "lists", "numbers", "nested"]
)
def test_a_bomb_is_one_line_within_a_second_and_300_mb(command, content, tmp_path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(bomb(b"[" + content * (10_000_000 // len(content)), 40))
    argv = [sys.executable, "-c", MEASURED, command[0], str(path), *command[1:]]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    code, seconds, megabytes = map(float, done.stdout.split())
    assert code == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    # A second where nothing else runs.
    assert seconds < 2, (seconds, megabytes)
    assert megabytes < 300, (seconds, megabytes)
    assert os.listdir(tmp_path) == [path.name]


def damaged(trace: Trace, count: int) -> list[bytes]:
    """Return this many damaged files of a trace: other values, missing and doubled parts, other
    bytes, cut and gzipped.
    """
    data = trace.to_dict()
    chance = random.Random(5)
    contents = [*mutants(data, count // 2, seed=3)]
    for path in chance.sample([path for path in leaves(data) if path], count // 5):
        copy = json.loads(json.dumps(data))
        part = copy
        for key in path[:-1]:
            part = part[key]
        if isinstance(part, list) and chance.random() < 0.5:
            part.insert(path[-1], part[path[-1]])
        else:
            del part[path[-1]]
        contents.append(json.dumps(copy).encode())
    whole = trace.to_bytes(packed=False)
    packed = trace.to_bytes()
    while len(contents) < count:
        content = bytearray(chance.choice((whole, packed)))
        for _ in range(chance.choice((1, 1, 8))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        contents.append(
            bytes(
                content[
                    : chance.choice((len(content), len(content), chance.randrange(len(content))))
                ]
            )
        )
    return contents


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_damaged_traces_are_opened_or_refused(count, trace, tmp_path, capsys):
    """Every door opens a file whole or refuses it in one line, and leaves nothing of a refused
    one.
    """
    page = App()
    path = tmp_path / "run.json"
    out = tmp_path / "out"
    counts: dict[str, Counter[str]] = {}

    def command(*argv: str) -> str:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        code = main([argv[0], str(path), *argv[1:]])
        err = capsys.readouterr().err
        if code == 0:
            for text in (file.read_text(errors="replace") for file in out.rglob("*.html")):
                assert "<img src=x" not in text
                assert "<script>alert" not in text
            return "opened"
        assert code == 2, (argv, err)
        assert err.count("\n") == 1, (argv, err)
        assert not [f for f in out.rglob("*") if f.is_file()], (argv, err)
        return "refused"

    def shown(content: bytes) -> str:
        before = page.trace
        try:
            opened = read_trace(content, "run.json")
        except ValueError as refused:
            assert "\n" not in str(refused)
            assert page.trace is before
            return "refused"
        page._on_message(None, {"id": "1", "kind": "open", "names": ["run.json"]}, [content])
        while page._cancels:  # until it is answered
            time.sleep(0.001)
        assert page.trace.to_dict() == opened.to_dict()
        return "opened"

    for content in damaged(trace, count):
        path.write_bytes(content)
        doors = {"page": partial(shown, content)}
        for kind in ("html", "csv", "perfetto", "aiperf"):
            doors[f"export --{kind}"] = partial(
                command, "export", f"--{kind}", str(out / f"run.{kind}")
            )
        doors["doctor"] = partial(command, "doctor", "--html", str(out / "doctor.html"))
        doors["replay"] = partial(
            command, "replay", "--drafter", "lookup", "--html", str(out / "replay.html")
        )
        for door, tried in doors.items():
            counts.setdefault(door, Counter())[tried()] += 1
    for door, verdicts in counts.items():
        opened = verdicts["opened"]
        refused = verdicts["refused"]
        print(f"{door:20}{count:4} tried {opened:4} opened {refused:4} refused")
    assert all(verdicts.total() == count for verdicts in counts.values())
    assert all(
        0 < verdicts["opened"] < count for door, verdicts in counts.items() if door != "replay"
    )


def with_script_everywhere(trace: Trace) -> Trace:
    """Return a trace with the script in every text that decides nothing about its structure."""
    structure = {"kind", "outcome", "verdict", "why_no_draft", "raw", "format", "rule"}

    def put(value, key=None):
        if isinstance(value, dict):
            return {k: put(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [put(v, key) for v in value]
        return value + SCRIPT if isinstance(value, str) and key not in structure else value

    return Trace.from_dict(put(trace.to_dict()))


def test_script_in_every_text_is_text_in_every_export(trace, tmp_path):
    hostile = with_script_everywhere(trace)
    pages = [run_page(hostile), run_page(hostile, hostile)]
    data = json.loads(
        next(
            path for path in saved_reports().values() if path.stem.startswith("heldout")
        ).read_bytes()
    )
    data["suite"]["name"] = data["machine"]["cpu"] = SCRIPT
    for stack in data["stacks"]:
        stack["stack"] += SCRIPT
    report = tmp_path / "report.json"
    page = tmp_path / "page.html"
    report.write_text(json.dumps(data))
    if main(["bench", "--from", str(report), "--html", str(page)]) == 0:
        pages.append(page.read_text())
    for path in RECORDS.glob("vllm*.jsonl"):
        log = tmp_path / path.name
        log.write_text(
            path.read_text().replace('"model": "', f'"model": "{SCRIPT}'.replace("/", "\\/"))
        )
        if main(["doctor", str(log), "--html", str(page)]) == 0:
            pages.append(page.read_text())
    assert len(pages) >= 4
    for text in pages:
        assert "onerror=alert" not in text.replace("&lt;img src=x onerror", "")
