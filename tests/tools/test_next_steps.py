"""The steps before a commit follow from the files that changed."""

from __future__ import annotations

import subprocess

import pytest

from tests.rows import column
from tools.mutants.lists import ROOT
from tools.next_steps import FURTHER_TESTS, STEPS, changed_files, next_steps, select_tests


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        pytest.param("hsd_viz/models/chat.py", ["tests/models"], id="a package"),
        pytest.param("hsd_viz/measure/bench/block.py", ["tests/measure/bench"], id="a product"),
        pytest.param("hsd_viz/disk.py", ["tests/test_disk.py"], id="a module beside packages"),
        pytest.param("tools/language/wording.py", ["tests/tools"], id="a tool"),
        pytest.param("tests/trace/test_trace.py", ["tests/trace/test_trace.py"], id="a test"),
        pytest.param("tests/trace/samples.py", ["tests/trace"], id="a helper of tests"),
        pytest.param("tests/conftest.py", [], id="a helper of all tests"),
        pytest.param("LICENSE", [], id="a file without tests"),
    ],
)
def test_the_tests_of_a_file(file, tests):
    assert select_tests([file]) == tests


def test_a_change_of_decoding_runs_the_tests_of_losslessness():
    assert "tests/lossless" in select_tests(["hsd_viz/decoding/loop.py"])


def test_a_test_in_a_folder_that_runs_is_not_named_again():
    assert select_tests(["tests/trace/test_trace.py", "hsd_viz/trace/trace.py"]) == ["tests/trace"]


def test_a_change_of_a_file_with_faults_applies_those_of_its_package():
    steps = column(next_steps(["hsd_viz/drafting/db.py"]), "what")

    assert any(step.endswith("-m tools.mutants --only drafting") for step in steps)
    assert steps[-1] == "make check"


def test_a_file_that_follows_another_is_named_unless_it_changed_too():
    assert "README.zh-CN.md" in column(next_steps(["README.md"]), "what")
    both = column(next_steps(["README.md", "README.zh-CN.md"]), "what")
    assert {"README.md", "README.zh-CN.md"}.isdisjoint(both)


def test_rules_are_of_files_and_tests_that_exist():
    for beginnings in STEPS:
        for beginning in beginnings:
            assert (ROOT / beginning).exists(), beginning
    for tests in FURTHER_TESTS.values():
        for test in tests:
            assert (ROOT / test).exists(), test


def test_new_changed_and_removed_files_have_changed(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    for name in ("changed", "removed", "same"):
        (tmp_path / name).write_text("before")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "changed").write_text("after")
    (tmp_path / "removed").unlink()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a name").write_text("new")

    assert changed_files(tmp_path) == ["changed", "folder/a name", "removed"]
