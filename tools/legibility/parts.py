"""Measure how easy the code is to read, and keep it that way.

`python -m tools.legibility` prints a row per part of the project. `python -m tools.legibility
PATH ...` prints a row per file below these paths, the hardest to read first, and the lines that
exceed a limit. The exit code is 1 if a part of `PART_LIMITS` exceeds a limit.

The columns: non-blank lines, their mean length and 90th percentile in characters, the share of
lines longer than 100 columns, `a, b = x, y` as a share of all assignments (an exchange of two names
is not counted), `**values` in calls, comprehensions per 100 statements, conditional expressions
and comprehensions within another, and `name = lambda`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.legibility.line_measures import COLUMNS, Measures, PartLimits, measure_text, places

ROOT = Path(__file__).resolve().parents[2]


#: Parts of the project and the kind of files that are measured in each.
PARTS = {
    "hsd_viz": ".py",
    "tests": ".py",
    "benchmarks": ".py",
    "tools": ".py",
    "training": ".py",
    "js": ".ts",
    "hsd_viz/native/src": ".hpp",
}
#: Never measured: installed packages and built files.
EXCLUDED = ("js/node_modules", "hsd_viz/views/static", "notebooks")
#: Parts without a line longer than 100 columns.
WRAPPED = ("hsd_viz", "hsd_viz/native/src", "js", "tests", "benchmarks", "tools", "training")


#: What the Python of each part may have at most.
PART_LIMITS = {
    "hsd_viz": PartLimits(splats=20),
    "tests": PartLimits(),
    "benchmarks": PartLimits(),
    "tools": PartLimits(),
    "training": PartLimits(),
}


def measured_files(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield the files to measure in a path: those with the suffix, by default Python's."""
    if path.is_file():
        yield path
        return
    suffix = suffix or ".py"
    for file in sorted(path.rglob(f"*{suffix}")):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(EXCLUDED):
            yield file


def measure_file(path: Path) -> Measures:
    """Measure one file."""
    return measure_text(path.read_text(encoding="utf-8"), path.suffix == ".py")


def measure_part(path: Path, suffix: str = "") -> Measures:
    """Measure all files of a path together."""
    total = Measures()
    for file in measured_files(path, suffix):
        total.add(measure_file(file))
    return total


_HEADER = (
    f"{'':34}{'lines':>7}{'mean':>6}{'p90':>5}{'>100':>8}{'tuples':>8}"
    f"{'splats':>8}{'compr.':>8}{'nested':>8}{'lambda':>8}"
)


def row(name: str, measures: Measures) -> str:
    """Return the row of the table for one part or file."""
    long_share = len(measures.long_lines) / max(1, len(measures.lengths))
    return (
        f"{name:34}{len(measures.lengths):7}{measures.mean_line:6.1f}{measures.p90_line:5}"
        f"{long_share:8.2%}{measures.tuple_share:8.2%}{len(measures.splats):8}"
        f"{measures.comprehensions_per_100:8.2f}{len(measures.nested):8}{len(measures.lambdas):8}"
    )


def check_parts(limits: Mapping[str, PartLimits] = PART_LIMITS) -> list[str]:
    """Return a line per limit that a part exceeds, with the value and the limit."""
    problems = []
    for part, limit in limits.items():
        measures = measure_part(ROOT / part, PARTS.get(part, ""))
        counted = (
            ("mean line", measures.mean_line, limit.mean_line),
            ("tuple assignments", measures.tuple_share, limit.tuples),
            ("splats", len(measures.splats), limit.splats),
            ("comprehensions per 100", measures.comprehensions_per_100, limit.comprehensions),
            ("lambdas", len(measures.lambdas), limit.lambdas),
            ("nested", len(measures.nested), limit.nested),
        )
        for name, value, most in counted:
            if value > most:
                problems.append(f"{part}: {name} {value:.4g} (limit {most:g})")
    return problems


def check_wrapped(paths: Iterable[str] = WRAPPED) -> list[str]:
    """Return a line per file that has lines longer than 100 columns."""
    problems = []
    for name in paths:
        for file in measured_files(ROOT / name, PARTS.get(name, "")):
            long_lines = measure_file(file).long_lines
            if long_lines:
                place = file.relative_to(ROOT).as_posix()
                problems.append(f"{place}: longer than {COLUMNS} columns: {places(long_lines)}")
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and return the exit code."""
    names = sys.argv[1:] if arguments is None else arguments
    print(_HEADER)
    if names:
        _print_files(names)
        return 0
    for part, suffix in PARTS.items():
        print(row(part, measure_part(ROOT / part, suffix)))
    problems = [*check_parts(), *check_wrapped()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _print_files(names: Iterable[str]) -> None:
    rows = []
    for name in names:
        for file in measured_files(Path(name).resolve()):
            rows.append((measure_file(file), file.relative_to(ROOT).as_posix()))
    rows.sort(key=lambda entry: len(entry[0].excesses()), reverse=True)
    for measures, name in rows:
        print(row(name, measures))
        for excess in measures.excesses():
            print(f"    {excess}")
