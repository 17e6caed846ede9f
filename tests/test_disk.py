import random
import subprocess
import sys
import time

import pytest

from hsd_viz.disk import replacing, write_whole


def test_a_file_appears_whole_with_its_folder(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_whole(path, "é\n")
    assert path.read_bytes() == "é\n".encode() and path.stat().st_mode & 0o777 == 0o644
    write_whole(path, b"\0")
    assert path.read_bytes() == b"\0" and list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with replacing(path, mode=0o755, sync=True) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o755 and list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "nowhere" / "file"):
        pass


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path):
    """Killed in the middle of writing, again and again, as all commands write: the file is whole each time."""
    path, size = tmp_path / "file", 3_000_000
    path.write_bytes(b"0" * size)
    code = f"""
from pathlib import Path
from hsd_viz.disk import write_whole
print(flush=True)
while True:
    for letter in (b"a", b"b"):
        write_whole(Path({str(path)!r}), letter * {size})
"""
    chance = random.Random(0)
    for _ in range(6):
        writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(0.05 + 0.1 * chance.random())
        writer.kill()
        writer.wait()
        content = path.read_bytes()
        assert len(content) == size and len(set(content)) == 1
