"""Checksums and the bill of materials of a release."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib

import pytest

from hsd_viz.version import __version__
from tests.rows import keyed
from tools.release import files as release


@pytest.fixture
def folder(tmp_path, capsys):
    """Return the folder of a release of two files."""
    (tmp_path / "hsd_viz-1.0.0-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "hsd_viz-1.0.0.tar.gz").write_bytes(b"sdist")
    assert release.main([str(tmp_path)]) == 0
    return tmp_path


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is missing")
def test_the_checksums_are_those_of_the_files(folder):
    command = ["sha256sum", "--check", "--strict", release.CHECKSUMS]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    (folder / "hsd_viz-1.0.0.tar.gz").write_bytes(b"changed")
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 1


def test_the_bill_names_what_is_required_and_what_is_built_in(folder):
    bill = json.loads((folder / release.BILL).read_text())
    by_reference = keyed(bill["components"], "bom-ref")
    project = tomllib.loads((release.ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        name = re.match(r"[\w.-]+", requirement)[0]
        assert by_reference[f"pypi:{name}"]["properties"][0]["value"] == requirement
    assert by_reference["npm:lit-html"]["version"]
    assert bill["metadata"]["component"]["version"] == __version__
    [dependencies] = bill["dependencies"]
    assert set(dependencies["dependsOn"]) <= set(by_reference)


def test_the_bill_has_each_bundled_package():
    """What the sources of the page import, and what the build takes by name."""
    sources = "".join(
        path.read_text()
        for path in [*(release.ROOT / "js").glob("*/*.ts"), *(release.ROOT / "js").glob("*.*s")]
        if not path.name.endswith(".test.ts")
    )
    declared = json.loads((release.ROOT / "js/package.json").read_text())["devDependencies"]
    imported = {name for name in declared if re.search(rf'from "{re.escape(name)}[/"]', sources)}
    build_only = {"esbuild", "happy-dom", "meriyah", "terser", "vitest"}
    assert imported - build_only == set(release.BUNDLED) == set(release.LICENCES)


def test_a_folder_without_wheels_is_one_line(tmp_path, capsys):
    assert release.main([str(tmp_path)]) == 2
    assert "contains no wheel" in capsys.readouterr().err
