"""Test that headers of databases with valid checksums and wrong values are refused before a
look-up.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from hsd_viz.drafting.index.format import DatabaseError
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.shared import FIVEGRAMS, STORED
from hsd_viz.models.families import LADDER

DATABASES = LADDER / "databases"
WHOLE = (DATABASES / "statistics.hsdb").read_bytes()
WRONG = (-1, 0, 2**40, 1.5, "x", None, True, [], {}, [1], float("nan"))
TENSORS = ("starts", "marks", "places", "values")


def parts() -> tuple[dict, dict, bytes]:
    """Return facts, header and tensors of the shipped statistics database."""
    body = 8 + int.from_bytes(WHOLE[:8], "little")
    header = json.loads(WHOLE[8:body])
    return json.loads(header["__metadata__"]["facts"]), header, WHOLE[body:]


def written(folder: Path, facts: object, header: dict, tensors: bytes) -> Path:
    """Write a database with valid checksums, as its writer does."""
    facts = facts if isinstance(facts, str) else json.dumps(facts)
    about = {"facts": facts, "checksum": "0" * 8, "tensors": f"{zlib.crc32(tensors):08x}"}
    header = header | {"__metadata__": header["__metadata__"] | about}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    head = head.replace(b"0" * 8, f"{zlib.crc32(head):08x}".encode(), 1)
    path = folder / "statistics.hsdb"
    path.write_bytes(len(head).to_bytes(8, "little") + head + tensors)
    return path


def refused(path: Path) -> str:
    with pytest.raises(DatabaseError) as error:
        Index(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_file_is_opened_as_it_was_written(tmp_path):
    path = written(tmp_path, *parts())
    assert Index(path).header == parts()[0]
    for name in (*STORED, FIVEGRAMS):
        assert Index(DATABASES / f"{name}.hsdb").limit == 4096


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["vocabulary_size", "bits", "longest", "continuations"])
def test_a_number_that_is_none_or_out_of_range_is_refused(name, value, tmp_path):
    if (name, value) == ("continuations", 0) and value is not False:
        return  # a database may be empty
    facts, header, tensors = parts()
    message = refused(written(tmp_path, facts | {name: value}, header, tensors))
    assert f"its header has the {name}" in message


@pytest.mark.parametrize("name", [*parts()[0]])
def test_a_missing_fact_is_refused(name, tmp_path):
    facts, header, tensors = parts()
    del facts[name]
    assert f"its header has the {name} None" in refused(written(tmp_path, facts, header, tensors))


@pytest.mark.parametrize(
    "facts", ["[]", "7", "null", '"x"', "{", "[" * 99_999, "9" * 5000], ids=lambda text: text[:5]
)
def test_facts_that_are_no_object_are_refused(facts, tmp_path):
    _, header, tensors = parts()
    refused(written(tmp_path, facts, header, tensors))


@pytest.mark.parametrize("name", ["kind", "vocabulary_hash", "meta", "keys_by_length"])
@pytest.mark.parametrize("value", [-1, None, [], 1.5], ids=repr)
def test_a_fact_of_another_type_is_refused(name, value, tmp_path):
    facts, header, tensors = parts()
    refused(written(tmp_path, facts | {name: value}, header, tensors))


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "F32"},
        {"dtype": "U64"},
        {"dtype": "U8"},
        {"dtype": None},
        {"shape": [-1]},
        {"shape": [3]},
        {"shape": [2**62]},
        {"shape": [1, 1]},
        {"shape": [1.0]},
        {"shape": "x"},
        {"data_offsets": [-8, 8]},
        {"data_offsets": [1, 8]},
        {"data_offsets": [0.0, 8.0]},
        {"data_offsets": [0, 8, 1]},
        {"data_offsets": []},
    ],
    ids=str,
)
def test_a_tensor_at_another_place_or_of_another_type_is_refused(name, change, tmp_path):
    facts, header, tensors = parts()
    refused(written(tmp_path, facts, header | {name: header[name] | change}, tensors))


@pytest.mark.parametrize("name", TENSORS)
def test_a_missing_or_strange_tensor_is_refused(name, tmp_path):
    facts, header, tensors = parts()
    for entry in (5, [], None, {}):
        refused(written(tmp_path, facts, header | {name: entry}, tensors))
    del header[name]
    refused(written(tmp_path, facts, header, tensors))


def test_a_header_as_long_as_a_file_is_not_parsed(tmp_path):
    path = tmp_path / "statistics.hsdb"
    path.write_bytes((2**21).to_bytes(8, "little") + b"[" * 2**21)
    assert "is not a database file" in refused(path)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "statistics.hsdb").mkdir()
    assert "it is not a file" in refused(tmp_path / "statistics.hsdb")


def test_a_killed_build_leaves_nothing(tmp_path):
    text = tmp_path / "text"
    out = tmp_path / "out"
    text.mkdir()
    for number in range(300):
        (text / f"{number}.txt").write_text(f"def name_{number}(a, b): return a + b\n" * 2000)
    build = ["databases", "build", "--out", str(out), "--kind", "statistics", "--text", str(text)]
    process = subprocess.Popen(
        [sys.executable, "-m", "hsd_viz", *build], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until = time.monotonic() + 120
        while not out.exists() and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.3)
        assert process.poll() is None, "it has ended before it could be killed"
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert not list(out.iterdir())
