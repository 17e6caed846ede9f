import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from hsd_viz.disk import MAX_JSON, check_writable, read_object, read_text, write_whole
from hsd_viz.errors import BadFile
from hsd_viz.figures.reports import report_of
from hsd_viz.latency.basis import read_json
from hsd_viz.latency.configs import shape_of
from hsd_viz.measure.doctor.observe import observe
from tests.patience import PATIENCE

UMASK = os.umask(0)
os.umask(UMASK)


def test_a_file_appears_whole_with_its_folder(tmp_path):
    path = tmp_path / "new" / "file.txt"
    write_whole(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    assert path.stat().st_mode & 0o777 == 0o666 & ~UMASK
    write_whole(path, b"\0")
    assert path.read_bytes() == b"\0"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(Path, "replace", Mock(side_effect=OSError))
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "new", mode=0o755)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o755
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_permissions_and_a_link_still_leads_to_it(tmp_path):
    path = tmp_path / "file"
    link = tmp_path / "link"
    chain = tmp_path / "chain"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("file")
    chain.symlink_to(link)
    write_whole(chain, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert chain.is_symlink()
    assert len(list(tmp_path.iterdir())) == 3
    path.unlink()
    write_whole(link, "again")  # a link to a file that does not exist yet
    assert path.read_text() == "again"
    assert link.is_symlink()


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(IsADirectoryError):
            write_whole(path, "x")
        with pytest.raises(ValueError, match="it is a folder"):
            check_writable(path)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices"
)
@pytest.mark.parametrize("number", [3, 7])
def test_a_device_is_written_to_and_stays_a_device(tmp_path, number):
    path = tmp_path / "device"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, number))
        path.open("wb").close()
    except OSError:
        pytest.skip("devices cannot be opened here")
    check_writable(path)
    if number == 3:
        write_whole(path, "x")
    else:  # full
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, "x")
    assert path.is_char_device()
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    content = []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: content.append(path.read_bytes()))
    reader.start()
    check_writable(path)
    write_whole(path, b"x" * 200_000)
    reader.join(PATIENCE)
    assert content == [b"x" * 200_000]
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"])
def test_standard_output_is_written_to_in_order_whatever_it_is(tmp_path, name):
    code = f"""
from pathlib import Path
from hsd_viz.disk import check_writable, write_whole
print("before")
check_writable(Path({name!r}))
write_whole(Path({name!r}), "content\\n")
print("after")
"""
    expected = "before\ncontent\nafter\n"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == expected
    )
    with (tmp_path / "out").open("w") as file:
        inode = os.fstat(file.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "out").read_text() == expected
    assert (tmp_path / "out").stat().st_ino == inode


def test_a_file_of_a_stranger_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"a" * 2**20)
    assert read_text(path, "JSON", 2**20) == "a" * 2**20
    path.write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(ValueError, match=r"JSON file .*x\.json is too large: the limit is 1 MiB"):
        read_text(path, "JSON", 2**20)
    # A device has no end.
    with pytest.raises(ValueError, match="zero is too large: the limit is 1 MiB"):
        read_text(Path("/dev/zero"), "JSON", 2**20)


def test_an_object_of_a_stranger_is_read_up_to_the_limit_of_json(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b'{"a": 1}'.ljust(MAX_JSON))
    assert read_object(path, "config") == {"a": 1}
    path.write_bytes(b'{"a": 1}'.ljust(MAX_JSON + 1))
    with pytest.raises(BadFile, match=r"config file .* is too large: the limit is 8 MiB"):
        read_object(path, "config")
    path.write_text("[1]")
    with pytest.raises(BadFile, match=r"config file .* is not a JSON object"):
        read_object(path, "config")


@pytest.mark.parametrize("content", [b"[" * 200_000, b" " * (8 * 2**20 + 1), b"\xff\xfe", b""])
def test_reports_plans_and_shapes_of_strangers_are_one_line(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    for read in (read_json, observe, shape_of, report_of):
        with pytest.raises(ValueError, match=r"x(\.json)? ") as raised:
            read(str(path) if read is shape_of else path)
        assert "\n" not in str(raised.value)
