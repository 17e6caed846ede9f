"""Links in folders that a person names: a file of a name of ours is never written through one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hsd_viz.cli import main
from hsd_viz.disk import check_writable, locked, write_inside, write_whole
from hsd_viz.errors import UserError
from hsd_viz.latency import inputs
from hsd_viz.latency import stored as calibrations

TRACE = Path(__file__).parent / "fixtures" / "traces" / "packed-columns.json.gz"
OLD = "what the link leads to"


def export_tables(folder: Path) -> None:
    assert main(["export", str(TRACE), "--csv", str(folder)]) == 0


def build_statistics(folder: Path) -> None:
    text = folder.parent / "corpus.txt"
    text.write_text("for i in range(10):\n    print(i)\n" * 20)
    command = ["databases", "build", "--kind", "statistics", "--text", str(text)]
    assert main([*command, "--out", str(folder)]) == 0


def build_course(folder: Path) -> None:
    assert main(["course", "build", str(folder), "--edition", "otter"]) == 0


#: Ways to write files into a folder that a person names, each with one of its files.
WAYS: dict[str, tuple[Callable[[Path], None], str]] = {
    "export --csv": (export_tables, "tokens.csv"),
    "databases build": (build_statistics, "statistics.hsdb"),
    "course build": (build_course, "otter/1-one-pass-many-tokens.ipynb"),
}


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    """A file that links lead to."""
    path = tmp_path / "elsewhere"
    path.write_text(OLD)
    return path


@pytest.mark.parametrize("way", WAYS)
def test_a_link_in_place_of_a_file_is_replaced(way, tmp_path, elsewhere):
    write, name = WAYS[way]
    folder = tmp_path / "folder"
    file = folder / name
    file.parent.mkdir(parents=True)
    file.symlink_to(elsewhere)
    write(folder)
    assert elsewhere.read_text() == OLD
    assert file.is_file()
    assert not file.is_symlink()


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_that_is_named_may_be_a_link_even_to_one_that_is_missing(way, tmp_path):
    write, name = WAYS[way]
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link")
    assert (tmp_path / "real" / name).is_file()
    assert (tmp_path / "link").is_symlink()


def test_a_link_in_place_of_a_folder_below_is_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "folder" / "otter").symlink_to(tmp_path / "elsewhere")
    assert main(["course", "build", str(tmp_path / "folder"), "--edition", "otter"]) == 2
    message = capsys.readouterr().err
    assert "otter is a link to" in message
    assert "name another folder" in message
    assert message.count("\n") == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_copy_of_the_course_takes_a_link_for_answers_though_it_leads_nowhere(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "5-databases.ipynb").symlink_to(tmp_path / "missing")
    assert main(["course", "copy", str(tmp_path / "folder")]) == 2
    assert "5-databases.ipynb exists" in capsys.readouterr().err
    assert not (tmp_path / "missing").exists()


def test_a_calibration_replaces_a_link_in_the_cache(tmp_path, elsewhere, monkeypatch):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path / "cache"))
    stored = calibrations.StoredCalibration(
        identity={},
        texts={},
        created=0.0,
        seconds=0.0,
        calibration=inputs.Calibration(
            models=("target",),
            costs={"target": inputs.LevelCost(draft=(1.0,), forward=(1.0,))},
            edges={},
        ),
        rounds={},
    )
    calibrations.save(stored)
    (file,) = (tmp_path / "cache" / "calibration").iterdir()
    file.unlink()
    file.symlink_to(elsewhere)
    calibrations.save(stored)
    assert elsewhere.read_text() == OLD
    assert json.loads(file.read_text())["identity"] == {}


def test_a_lock_is_not_taken_through_a_link(tmp_path, elsewhere):
    (tmp_path / "lock").symlink_to(elsewhere)
    with pytest.raises(OSError), locked(tmp_path / "lock"):
        pass
    assert elsewhere.read_text() == OLD


def test_a_lock_leaves_what_is_in_its_file(elsewhere):
    with locked(elsewhere):
        assert elsewhere.read_text() == OLD


def test_a_file_inside_a_folder_keeps_its_permissions_and_a_link_gives_none(tmp_path, elsewhere):
    elsewhere.chmod(0o604)
    (tmp_path / "link").symlink_to(elsewhere)
    write_inside(tmp_path, "link", "new")
    assert (tmp_path / "link").stat().st_mode & 0o777 != 0o604
    assert write_inside(tmp_path, "elsewhere", "new") == elsewhere
    assert elsewhere.stat().st_mode & 0o777 == 0o604


def test_only_this_user_can_read_a_private_file_while_it_is_written(tmp_path, monkeypatch):
    modes: list[int] = []
    replace = Path.chmod

    def chmod(path: Path, mode: int) -> None:
        modes.append(path.stat().st_mode & 0o777)
        replace(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    write_whole(tmp_path / "token", "secret", mode=0o640)
    assert modes == [0o600]
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def planted(tmp_path, elsewhere) -> Path:
    """A link of another user in a folder where all may write."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root makes links of other users")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    link = folder / "link"
    link.symlink_to(elsewhere)
    os.chown(link, 54321, -1, follow_symlinks=False)
    return link


def test_a_link_that_another_user_planted_is_not_followed(planted, elsewhere):
    with pytest.raises(PermissionError, match="link of another user"):
        write_whole(planted, "x")
    with pytest.raises(UserError, match=r"cannot write .*link: a link of another user"):
        check_writable(planted)
    assert elsewhere.read_text() == OLD


@pytest.mark.parametrize("way", ["below it", "through another link"])
def test_nor_is_one_on_the_way(way, planted, elsewhere, tmp_path):
    elsewhere.unlink()
    elsewhere.mkdir()
    path = planted / "file"
    if way == "through another link":
        path = tmp_path / "own"
        path.symlink_to(planted / "file")
    with pytest.raises(PermissionError):
        write_whole(path, "x")
    with pytest.raises(PermissionError):
        write_inside(path.parent if way == "below it" else path, "file", "x")
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("mode", [0o0777, 0o1755], ids=["not sticky", "not of all"])
def test_a_link_in_a_folder_of_another_kind_is_followed(mode, planted, elsewhere):
    planted.parent.chmod(mode)
    write_whole(planted, "x")
    assert elsewhere.read_text() == "x"


def test_a_link_of_the_folders_owner_is_followed(planted, elsewhere):
    os.chown(planted.parent, 54321, -1)
    write_whole(planted, "x")
    assert elsewhere.read_text() == "x"
