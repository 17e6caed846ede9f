"""The folder of the server: its files, and no others."""

from __future__ import annotations

import os

import pytest

from hsd_viz.errors import BadFile, UserError
from hsd_viz.mcp import folder as folders
from hsd_viz.mcp.folder import Folder


@pytest.fixture
def root(tmp_path):
    """Return a folder with two files, links inside and outside, a pipe, and a secret beside it."""
    inside = tmp_path / "logs"
    (inside / "day").mkdir(parents=True)
    (inside / "a.jsonl").write_text("{}")
    (inside / "day" / "b.jsonl").write_text("{}")
    (inside / ".hidden").write_text("{}")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "logs-of-others").mkdir()
    (tmp_path / "logs-of-others" / "c.jsonl").write_text("{}")
    (inside / "same").symlink_to(inside / "a.jsonl")
    (inside / "out").symlink_to(tmp_path / "secret.txt")
    (inside / "up").symlink_to(tmp_path)
    (inside / "gone").symlink_to(tmp_path / "no-such-file")
    (inside / "loop").symlink_to("loop")
    os.mkfifo(inside / "pipe")
    return inside


@pytest.mark.parametrize("name", ["a.jsonl", "day/b.jsonl", "./a.jsonl", "day/../a.jsonl", "same"])
def test_a_file_of_the_folder_is_found(root, name):
    assert Folder.of(root).find(name).read_text() == "{}"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "out",
        "up/secret.txt",
        "day/../../secret.txt",
        "../logs-of-others/c.jsonl",
        "/etc/passwd",
        "/etc/no-such-file",
        "../no-such-file",
        "up/no-such-file",
        "gone",
        "none/../../no-such-file",
    ],
)
def test_a_name_that_leads_out_is_refused_in_the_same_words_whatever_exists(root, name):
    with pytest.raises(UserError) as refused:
        Folder.of(root).find(name)
    assert str(refused.value) == f"{name!r} is not in the folder of this server"


def test_a_name_that_leads_out_is_refused_where_the_folder_is_a_link(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root)
    assert Folder.of(link).find("a.jsonl") == root / "a.jsonl"
    with pytest.raises(UserError, match="is not in the folder"):
        Folder.of(link).find("../secret.txt")


@pytest.mark.parametrize("name", ["missing.jsonl", "day", "pipe", ".", "loop", "x" * 5000])
def test_what_is_not_a_regular_file_is_one_line(root, name):
    with pytest.raises(BadFile, match="there is no file"):
        Folder.of(root).find(name)


@pytest.mark.parametrize("name", ["", "  ", "a\0b"])
def test_what_is_no_name_is_one_line(root, name):
    with pytest.raises(UserError, match="is not the name of a file"):
        Folder.of(root).find(name)


def test_a_large_file_is_refused(root, monkeypatch):
    monkeypatch.setattr(folders, "MAX_BYTES", 1)
    with pytest.raises(BadFile, match="too large"):
        Folder.of(root).find("a.jsonl")


def test_without_a_folder_no_file_is_read(root, monkeypatch):
    monkeypatch.chdir(root)
    with pytest.raises(UserError, match="start the server with a folder"):
        Folder.of(None).find("a.jsonl")
    assert Folder.of(None).names() == []


def test_the_list_has_visible_files_that_can_be_read(root):
    assert Folder.of(root).names() == ["a.jsonl", "same", "day/b.jsonl"]


def test_a_path_that_is_not_a_folder_is_one_line(root):
    with pytest.raises(UserError, match="is not a folder"):
        Folder.of(root / "a.jsonl")
