"""A full disk, a read-only folder and a missing home: one line, the old file stays, and nothing
else is left.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hsd_viz import bundled, load_bundled
from hsd_viz.cli import main
from hsd_viz.native.build import default_build
from hsd_viz.views.page_data import saved_reports
from tests.compilers import copying, script

RECORDS = Path(__file__).parents[1] / "fixtures" / "records"
LOG = {"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6] * 20}


@pytest.fixture
def files(tmp_path):
    """The files that commands read; the current folder is empty."""
    folder = tmp_path / "read"
    folder.mkdir()
    load_bundled(bundled()[0].name).save(folder / "run.json.gz")
    report = next(path for path in saved_reports().values() if path.stem.startswith("heldout"))
    (folder / "report.json").write_bytes(report.read_bytes())
    (folder / "log.jsonl").write_text(json.dumps(LOG) + "\n")
    (folder / "vllm.jsonl").write_bytes((RECORDS / "vllm-0.32.0-summary.jsonl").read_bytes())
    return folder


COMMANDS = [
    "export run.json.gz --html OUT",
    "export run.json.gz --perfetto OUT",
    "export run.json.gz --aiperf OUT",
    "export run.json.gz --csv DIR",
    "doctor run.json.gz --json OUT",
    "doctor run.json.gz --html OUT",
    "import vllm.jsonl --save OUT",
    "bench --from report.json --html OUT",
    "replay log.jsonl --drafter lookup --json OUT",
    "replay log.jsonl --drafter lookup --html OUT",
    "site build DIR",
    "course copy DIR",
]


def written(command: str, files: Path, out: Path) -> list[str]:
    """Return the words of a command; OUT and DIR are in ``out``."""
    names = {"OUT": str(out / "file.json"), "DIR": str(out / "folder")}
    words = []
    for word in command.split():
        words.append(names.get(word, str(files / word) if (files / word).is_file() else word))
    return words


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command, files, tmp_path, capsys, monkeypatch):
    """A file can have at most 64 bytes, as on a disk with no more room."""
    # What is imported meanwhile would leave a cut file of bytecode behind.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    out = tmp_path / "out"
    out.mkdir()
    (out / "file.json").write_text("old")
    words = written(command, files, out)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
        code = main(words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    err = capsys.readouterr().err
    assert code == 2, err
    assert err.count("\n") == 1, err
    assert "File too large" in err
    assert left_in(out) == ["file.json"]
    assert (out / "file.json").read_text() == "old"


@pytest.mark.parametrize("home", ["read-only", "missing"])
def test_without_a_home_to_write_to(home, tmp_path, files):
    """Caches are not needed: decoding and reading work without them."""
    folder = tmp_path / "home"
    if home == "read-only":
        folder.write_text("a file: nothing can be made in it, not even by root")
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    environment["HF_HUB_OFFLINE"] = "1"
    # The runtime is made for each of these processes alone: here as a copy, in seconds less.
    compiler = script(tmp_path / "c++", copying())
    if default_build().wait():
        environment |= {"CXX": str(compiler), "HSD_VIZ_CXXFLAGS": "-g0"}
    if home == "missing":
        environment["XDG_CACHE_HOME"] = "/proc/nowhere"
    decode = ["decode", "--stack", "db > target", "--prompt", "x", "--max-new-tokens", "4"]
    for words in (["export", str(files / "run.json.gz"), "--csv", str(tmp_path / "t")], decode):
        command = [sys.executable, "-m", "hsd_viz", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
    if default_build().wait():
        assert "x" in (tmp_path / "c++.count").read_text()
