"""Test the search for a compiler, the single compilation, and the reasons for a missing library."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import stat
import tempfile
import threading
import warnings

import pytest

from hsd_viz.disk import write_inside
from hsd_viz.native import build as build_module
from hsd_viz.native.build import Build, default_build
from tests.compilers import copying, script
from tests.patience import PATIENCE

needs_library = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Set ``$CXX`` to a script."""

    def make(body: str) -> Build:
        monkeypatch.setenv("CXX", str(script(tmp_path / "c++", body)))
        return Build(cache=tmp_path / "cache")

    return make


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    build = Build(cache=tmp_path)
    assert not build.wait(PATIENCE)
    assert build.reason.startswith(
        "no C++ compiler is installed (c++, g++ or clang++): install one"
    )
    assert not build.compiling
    with pytest.raises(ValueError, match="there is no native runtime: no C"):
        build.library  # noqa: B018
    monkeypatch.setenv("CXX", "mine++ -O1")
    build = Build(cache=tmp_path)
    assert not build.wait(PATIENCE)
    assert build.reason == "the C++ compiler $CXX (mine++) is not there"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "echo 'In file x:' >&2; echo 'x.cpp:1: error: no such thing' >&2; exit 1",
            "x.cpp:1: error: no such thing",
        ),
        ("exit 3", "exit status 3"),
        ("kill -SEGV $$", "exit status -11"),
        ('echo text > "$out"', "the compiled library cannot be loaded"),
    ],
)
def test_a_compiler_that_fails(body, said, compiler, tmp_path):
    build = compiler(f'[ -n "$out" ] || exit 0\n{body}')
    assert not build.wait(PATIENCE)
    assert build.reason == f"{tmp_path}/c++ failed: {said}"
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} <= {".so", ".lock"}


def test_a_fault_of_the_thread_that_compiles_is_the_reason(compiler, monkeypatch):
    build = compiler("exit 0")
    monkeypatch.setattr(build_module, "into_cache", lambda *_: {}["lost"])
    assert not build.wait(PATIENCE)
    assert "KeyError: 'lost'" in build.reason


@needs_library
def test_without_a_cache_the_library_is_compiled_once_for_this_process(compiler, tmp_path):
    (tmp_path / "cache").write_text("a file")
    build = compiler(copying())
    with pytest.warns(UserWarning, match="compiled for this run only .*cache: "):
        assert build.wait(PATIENCE)
    assert (tmp_path / "c++.count").read_text().count("x") == 1
    assert tmp_path not in build.path.parents


@needs_library
def test_a_full_disk_costs_one_compilation_and_no_library(compiler, tmp_path):
    """Files are limited to 64 kB, as on a full disk; the compiler's own files are elsewhere."""
    build = compiler(copying())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    whole = default_build().path.read_bytes()

    def write(folder, name, content, mode=None):
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
        try:
            return write_inside(folder, name, content, mode)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with pytest.MonkeyPatch.context() as patched, pytest.warns(UserWarning, match="too large"):
        patched.setattr(build_module.disk, "write_inside", write)
        assert build.wait(PATIENCE)
    assert (tmp_path / "c++.count").read_text().count("x") == 1
    assert build.path.read_bytes() == whole
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".lock"}


@needs_library
def test_it_is_compiled_once(compiler, tmp_path):
    assert compiler(copying()).wait(PATIENCE)
    assert compiler(copying()).wait(PATIENCE)
    assert (tmp_path / "c++.count").read_text().count("x") == 1
    library = next((tmp_path / "cache").glob("*.so"))
    library.unlink()  # in place it would be changed under those who have it loaded
    library.write_bytes(b"")
    assert compiler(copying()).wait(PATIENCE), "a broken file is compiled again"
    assert ctypes.CDLL(str(library)).hsd_vector_bytes() in (16, 32, 64)


@needs_library
@pytest.mark.parametrize(
    "attack",
    [
        "content",
        *("file for all", "file for the group", "file of another user"),
        *("folder for all", "folder for the group", "folder of another user"),
        *("above for all", "above for a group", "above of another user"),
    ],
)
def test_a_library_that_others_may_have_changed_is_not_loaded(attack, compiler, tmp_path):
    assert compiler(copying()).wait(PATIENCE)
    (library,) = (tmp_path / "cache").glob("*.so")
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content + (b"more" if attack == "content" else b""))  # it still loads
    library.chmod(0o755)
    what, _, who = attack.partition(" ")
    changed = {"file": library, "folder": tmp_path / "cache", "above": tmp_path}.get(what)
    if changed is not None:
        before = stat.S_IMODE(changed.stat().st_mode)
        changed.chmod(
            {"for all": before | 0o002, "of another user": before}.get(who, before | 0o020)
        )
        if who == "of another user":
            os.chown(changed, 54321, -1)
        elif who == "for a group":
            os.chown(changed, -1, 54321)
    with warnings.catch_warnings(record=True):
        build = compiler(copying())
        assert build.wait(PATIENCE)
    assert (tmp_path / "c++.count").read_text().count("x") == 2, "it is compiled again"
    above_is_bad = what == "above" or attack == "folder of another user"
    assert (tmp_path in build.path.parents) != above_is_bad


@needs_library
def test_folders_above_the_cache_that_others_cannot_change_are_fine(compiler, tmp_path):
    tmp_path.chmod(0o1777)  # as /tmp: only the owner of an entry renames it
    assert compiler(copying()).wait(PATIENCE)
    assert compiler(copying()).wait(PATIENCE)
    assert (tmp_path / "c++.count").read_text().count("x") == 1
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@needs_library
def test_several_may_build_at_once(compiler, tmp_path):
    slow = 'case "$*" in *-shared*) sleep 0.5;; esac\n' + copying()
    builds = [compiler(slow) for _ in range(4)]
    for build in builds:
        assert build.start().compiling
    waiting = [threading.Thread(target=build.wait) for build in builds]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    for build in builds:
        assert build.wait(0)
    assert (tmp_path / "c++.count").read_text().count("x") == 1, "one compiles, the others wait"
    assert len(list((tmp_path / "cache").glob("*.so"))) == 1
    (lock,) = set((tmp_path / "cache").iterdir()) - set((tmp_path / "cache").glob("*.so"))
    assert lock.suffix == ".lock", "others may wait for it, so it stays"


@needs_library
def test_the_library_of_the_package_comes_first(compiler, tmp_path, monkeypatch):
    packaged = tmp_path / "lib"
    packaged.mkdir()
    monkeypatch.setattr(build_module, "PACKAGED", packaged)
    build = compiler(copying())
    best = next(iter(build_module.kernels()))
    shutil.copy(default_build().path, packaged / build_module.library_name(best))
    assert build.wait(PATIENCE)
    assert build.path.parent == packaged
    assert build.kernel == best
    assert not (tmp_path / "cache").exists(), "nothing is compiled"

    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("CXX")
    assert Build(tmp_path / "cache").wait(PATIENCE), "it needs no compiler"

    sources = tmp_path / "src"
    shutil.copytree(build_module.SOURCES, sources)
    (sources / "more.hpp").touch()
    monkeypatch.setattr(build_module, "SOURCES", sources)
    build = Build(tmp_path / "cache")
    assert not build.wait(PATIENCE), "it is of other sources"
    assert "no C++ compiler" in build.reason, "it is of other sources"


@needs_library
def test_another_compiler_flag_or_processor_is_another_file(compiler, tmp_path, monkeypatch):
    assert compiler(copying()).wait(PATIENCE)
    monkeypatch.setenv("HSD_VIZ_CXXFLAGS", "-O2 -g0")
    assert compiler(copying()).wait(PATIENCE)
    monkeypatch.delenv("HSD_VIZ_CXXFLAGS")
    monkeypatch.setattr(build_module, "processor_features", set)
    assert compiler(copying()).wait(PATIENCE)
    assert len(list((tmp_path / "cache").glob("*.so"))) == 3


def test_a_failed_build_has_no_kernel(compiler):
    build = compiler("exit 1")
    assert not build.wait(PATIENCE)
    assert build.kernel is None
    assert build.path is None


@needs_library
def test_the_folder_of_the_compiler_is_removed_with_the_copy_in_the_cache(
    compiler, tmp_path, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    build = compiler(copying())
    assert build.wait(PATIENCE)
    assert build.path.parent == tmp_path / "cache"
    assert not list(temporary.glob("hsd-viz-native-*"))
