"""Complete a release: checksums and a bill of materials beside its files.

``python -m tools.release DIST`` reads the wheels and the sdist in DIST and writes ``SHA256SUMS``
and ``sbom.cdx.json`` (CycloneDX 1.6: what the package requires, and what is built into it). It
needs no package, and the same files give the same output.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CHECKSUMS = "SHA256SUMS"
BILL = "sbom.cdx.json"
#: npm packages whose code is in the built files of the page; the others only build and test it.
BUNDLED = ("lit-html", "plotly.js-cartesian-dist-min")
LICENCES = {"lit-html": "BSD-3-Clause", "plotly.js-cartesian-dist-min": "MIT"}
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def files_of(folder: Path) -> list[Path]:
    """Return the files of a release.

    Raises:
        ValueError: if there is no wheel.
    """
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if not any(file.suffix == ".whl" for file in files):
        raise ValueError(f"{folder} contains no wheel: run `python -m build --outdir {folder}`")
    return files


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def checksums(files: list[Path]) -> str:
    """Return the lines that ``sha256sum --check`` reads."""
    return "".join(f"{digest_of(file)}  {file.name}\n" for file in files)


def bill_of_materials(files: list[Path]) -> dict[str, Any]:
    """Return the bill of materials of this checkout and its built files, as CycloneDX."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = _version()
    required = [_required(requirement) for requirement in project["dependencies"]]
    bundled = [_bundled(name) for name in BUNDLED]
    components = [*required, *bundled, *map(_built, files)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "hsd-viz",
                "name": "hsd-viz",
                "version": version,
                "purl": f"pkg:pypi/hsd-viz@{version}",
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": [
            {
                "ref": "hsd-viz",
                "dependsOn": [component["bom-ref"] for component in [*required, *bundled]],
            }
        ],
    }


def _version() -> str:
    text = (ROOT / "hsd_viz" / "version.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


def _required(requirement: str) -> dict[str, Any]:
    """Return a package that pip installs beside this one, with the range that is allowed."""
    match = _NAME.match(requirement)
    name = match[0] if match else requirement
    return {
        "type": "library",
        "bom-ref": f"pypi:{name}",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "scope": "required",
        "properties": [{"name": "hsd-viz:requirement", "value": requirement}],
    }


def _bundled(name: str) -> dict[str, Any]:
    """Return an npm package that is part of the built files."""
    declared = json.loads((ROOT / "js" / "package.json").read_text(encoding="utf-8"))
    version = declared["devDependencies"][name]
    return {
        "type": "library",
        "bom-ref": f"npm:{name}",
        "name": name,
        "version": version,
        "purl": f"pkg:npm/{name}@{version}",
        "licenses": [{"license": {"id": LICENCES[name]}}],
    }


def _built(file: Path) -> dict[str, Any]:
    return {
        "type": "file",
        "bom-ref": f"file:{file.name}",
        "name": file.name,
        "hashes": [{"alg": "SHA-256", "content": digest_of(file)}],
    }


def main(words: list[str]) -> int:
    """Write both files into the folder of a release, and print their names."""
    if len(words) != 1:
        print("give the folder of the wheels: python -m tools.release DIST", file=sys.stderr)
        return 2
    folder = Path(words[0])
    try:
        files = files_of(folder)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    bill = folder / BILL
    bill.write_text(json.dumps(bill_of_materials(files), indent=1) + "\n", encoding="utf-8")
    sums = folder / CHECKSUMS
    sums.write_text(checksums([*files, bill]), encoding="utf-8")
    print(sums)
    print(bill)
    return 0
