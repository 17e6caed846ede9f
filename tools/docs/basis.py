"""What a report of ``hsd-viz bench`` was measured with: ``python -m tools.docs.basis [NAME ...]``.

Speed-ups depend on the models, databases and cost table of a family. ``docs/bench/basis.json`` has
a hash of them for each report; the command writes it for reports that were just measured. A report
that was measured with others is marked in :mod:`tools.docs.results` wherever it is a source.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from functools import cache
from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.models.families import FAMILIES, LADDER

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "docs" / "bench"
STAMPS = BENCH / "basis.json"
#: The files of a family that decide what is drafted and accepted.
SUFFIXES = ("*.safetensors", "*.hsdb")
FOLDERS = {"code": LADDER, "smollm2": ROOT / "hsd_viz" / "smollm2" / "weights"}
_DIGITS = 16


def family_of(report: dict) -> str:
    """Return the family of a report by its command."""
    return "smollm2" if "--family smollm2" in report["command"] else "code"


@cache
def present(family: str) -> str:
    """Return the hash of a family's models, databases and cost table as they are."""
    paths: list[Path] = []
    for suffix in SUFFIXES:
        paths += FOLDERS[family].rglob(suffix)
    digest = hashlib.sha256()
    for path in [*sorted(paths), FAMILIES[family].costs]:
        digest.update(path.name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:_DIGITS]


def is_former(name: str, report: dict) -> bool:
    """Return whether a report was measured with other models, databases or costs than the present
    ones. Other measurements than those of ``hsd-viz bench`` are not.
    """
    if "stacks" not in report:
        return False
    stamps = json.loads(STAMPS.read_text(encoding="utf-8"))
    return stamps.get(name) != present(family_of(report))


def stamp(names: list[str]) -> None:
    """Write that these reports were measured with the present files."""
    stamps = json.loads(STAMPS.read_text(encoding="utf-8")) if STAMPS.exists() else {}
    for name in names:
        report = json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8"))
        stamps[name] = present(family_of(report))
    text = json.dumps(stamps, indent=1, sort_keys=True) + "\n"
    write_whole(STAMPS, text.encode())


def main() -> None:
    """Stamp the named reports."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="reports without .json")
    stamp(parser.parse_args().names)


if __name__ == "__main__":
    main()
