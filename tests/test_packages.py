"""Models as a distribution of their own: where they are found, and that versions name contents."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from hsd_viz.errors import MissingPackage
from hsd_viz.models import packages
from hsd_viz.models.families import CODE, LADDER, SMOLLM2_FOLDER
from hsd_viz.models.packages import CODE_MODELS, GROUP, SMOLLM2_MODELS
from hsd_viz.version import __version__
from hsd_viz.views.page_data import saved_reports
from tests.rows import column

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def install(folder: Path, distribution: str, package: str = "models_of_a_test") -> Path:
    """Write an installed distribution with models; return the folder of the models."""
    weights = folder / package / packages.FOLDER
    weights.mkdir(parents=True)
    (folder / package / "__init__.py").write_text("raise ImportError('it is never imported')")
    about = folder / f"{distribution.replace('-', '_')}-1.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0.0\n"
    )
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{CODE_MODELS.family} = {package}\n")
    return weights


def test_models_are_found_in_an_installed_distribution(tmp_path, monkeypatch):
    weights = install(tmp_path, CODE_MODELS.distribution)
    monkeypatch.syspath_prepend(tmp_path)
    assert CODE_MODELS.find() == weights
    assert CODE_MODELS.folder(tmp_path / "missing") == weights


def test_an_entry_point_of_another_distribution_is_ignored(tmp_path, monkeypatch):
    install(tmp_path, "models-of-others")
    monkeypatch.syspath_prepend(tmp_path)
    assert CODE_MODELS.find() is None


def test_the_models_of_a_checkout_come_first(tmp_path, monkeypatch):
    install(tmp_path, CODE_MODELS.distribution)
    monkeypatch.syspath_prepend(tmp_path)
    own = tmp_path / "own"
    own.mkdir()
    assert CODE_MODELS.folder(own) == own
    assert LADDER == ROOT / "hsd_viz" / "ladder" / "weights"


def test_missing_models_are_one_line_with_the_command(tmp_path):
    family = replace(CODE, models={"target": tmp_path / "missing" / "target"})
    words = r"run `hsd-viz models install code` \(21 MB\)"
    with pytest.raises(MissingPackage, match=words):
        family.path("target")
    assert not family.is_installed


def digest_of(folder: Path) -> str:
    """Return a digest of the names and contents of the files of a folder."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            parts.append(
                [path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
            )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("package", "folder"), [(CODE_MODELS, LADDER), (SMOLLM2_MODELS, SMOLLM2_FOLDER)]
)
def test_the_version_of_a_data_wheel_names_its_content(package, folder):
    name = f"models-{package.family}"
    declared = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())
    project = declared["project"]
    assert project["name"] == package.distribution
    assert project["version"] == package.version
    module = f"hsd_viz_models_{package.family}"
    assert project["entry-points"][GROUP] == {package.family: module}
    included = declared["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included[f"../../{folder.relative_to(ROOT).as_posix()}"] == f"{module}/weights"
    assert digest_of(folder) == declared["tool"]["hsd-viz"]["digest"], (
        f"the weights have changed: raise the version in packages/{name}/pyproject.toml and in "
        "hsd_viz/models/packages.py, and write the new digest"
    )


def test_the_citation_names_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert citation["license"] == PYPROJECT["project"]["license"]


def test_the_changelog_begins_with_the_version_or_what_follows_it():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^## (.+)$", text, re.M)[:2]
    released = second if first == "Unreleased" else first
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert released == f"{__version__} - {citation['date-released']}"


def test_a_build_imports_no_requirement_of_the_package():
    """A build runs in an environment of its own, in which nothing of this package is installed."""
    hook = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    imports = [node for node in hook.body if isinstance(node, ast.ImportFrom)]
    own = [ast.unparse(node) for node in imports if (node.module or "").startswith("hsd_viz")]
    assert own
    required = [re.match(r"[\w-]+", line)[0] for line in PYPROJECT["project"]["dependencies"]]
    absent = [name.lower().replace("-", "_") for name in required]
    script = "\n".join([f"import sys; sys.modules.update(dict.fromkeys({absent!r}))", *own])
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_sdist_has_what_a_build_reads_and_no_weights():
    targets = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    sdist = targets["sdist"]
    read = {
        "pyproject.toml",
        "hatch_build.py",
        PYPROJECT["project"]["readme"],
        *PYPROJECT["project"]["license-files"],
        *targets["wheel"]["packages"],
        *targets["wheel"]["force-include"],
        "docs/bench",
    }
    assert read <= set(sdist["only-include"])
    assert [ROOT / name for name in sdist["exclude"]] == [LADDER, SMOLLM2_FOLDER]


def left_out() -> list[str]:
    """Return the measurements that a wheel leaves out, as the build names them."""
    [names] = [
        ast.literal_eval(node.value)
        for node in ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "UNREAD"
    ]
    return list(names)


@cache
def sources() -> dict[Path, str]:
    """Return the texts of the package and of the lessons."""
    texts = {}
    for pattern in ("hsd_viz/**/*.py", "notebooks/course/master/*.md"):
        for path in ROOT.glob(pattern):
            texts[path] = path.read_text(encoding="utf-8")
    return texts


@pytest.mark.parametrize("name", left_out())
def test_a_measurement_that_a_wheel_leaves_out_is_opened_nowhere(name):
    assert (ROOT / "docs" / "bench" / name).is_file()
    assert name not in set(column(saved_reports().values(), "name"))
    stem = name.removesuffix(".json")
    named = re.compile(rf"measured\([\"']{re.escape(stem)}[\"']\)|{re.escape(name)}")
    assert not [path for path, source in sources().items() if named.search(source)]


@pytest.mark.parametrize(
    "name", PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
)
def test_what_the_sdist_names_exists(name):
    assert (ROOT / name).exists()
