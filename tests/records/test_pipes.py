"""Records from a pipe, which can be read once and has no position."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hsd_viz import doctor, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.records.entries import EntryReader
from hsd_viz.records.lines import documents
from hsd_viz.records.read import read

FILES = Path(__file__).resolve().parents[1] / "fixtures" / "records"
#: A log, JSON lines, and one JSON object.
RECORDS = ("vllm-v0.log", "tokenspeed.jsonl", "lm-studio.json")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes are of POSIX")


@pytest.fixture
def piped(tmp_path) -> Callable[[bytes], Path]:
    """Return the path of a pipe from which a content can be read once."""

    def pipe(content: bytes) -> Path:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return path

    return pipe


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_a_pipe_gives_the_series_of_its_file(name, packed, piped):
    content = (FILES / name).read_bytes()
    reading = read(piped(gzip.compress(content) if packed else content))
    expected = read(FILES / name)
    assert reading.series == expected.series
    assert reading.lines == expected.lines


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
def test_the_doctor_reads_a_record_from_a_pipe(packed, piped):
    content = (FILES / "vllm-v0.log").read_bytes()
    diagnosis = doctor(piped(gzip.compress(content) if packed else content))
    assert diagnosis.to_dict()["findings"] == doctor(FILES / "vllm-v0.log").to_dict()["findings"]


def test_the_doctor_reads_a_trace_from_a_pipe(piped):
    trace = load_bundled("hierarchy")
    assert doctor(piped(trace.to_bytes())).speedup == doctor(trace).speedup


def test_the_message_of_a_pipe_without_a_record_names_the_pipe(piped):
    pipe = piped(b"hello")
    with pytest.raises(UserError, match=f"^{pipe} is not a trace or a record of another engine"):
        doctor(pipe)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"\n\xef\xbb\xbf \r\n{}\n\n{}", [3, 5]),
        (b'{"a": 1}\n{"a": 2}', [1, 2]),
        (b"\n\n[INFO] one\n[INFO] two", [3, 4]),
        (b'\n{\n"a": 1}', [2]),
    ],
)
def test_blank_lines_before_the_first_are_counted(content, lines, piped):
    assert [document.line for document in documents(piped(content))] == lines


def test_entries_after_blank_lines_have_their_line_numbers(piped):
    assert list(EntryReader(piped(b'\n\n{"a": 1}\n{"a": 2}')).entries()) == [
        (3, {"a": 1}),
        (4, {"a": 2}),
    ]


def test_lines_after_a_json_object_that_is_not_the_whole_file_are_read(piped):
    """More lines than one buffer holds, after the first was tried as the whole file."""
    rows = [json.dumps({"number": k, "text": "x" * 100}) for k in range(3000)]
    reader = EntryReader(piped("\n".join(rows).encode()))
    first = reader.first_character()
    reader.put_back(first + reader.rest(1000))
    lines = [line.strip().decode() for _, line in reader.lines()]
    assert lines == rows
    assert reader.done == len("\n".join(rows))
