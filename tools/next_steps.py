"""Print what the files that changed since the last commit need before the next one.

    python -m tools.next_steps

``make ready`` ends with it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.lists import ROOT, read_mutants

PYTHON = ".venv/bin/python"


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do before a commit.

    Attributes:
        what: a command, or a file to correct.
        why: the reason.
    """

    what: str
    why: str


#: A step for files whose names begin so.
STEPS: dict[tuple[str, ...], Step] = {
    ("hsd_viz/trace/tables.toml",): Step(
        "make ready", "rows, types of the page and the reference are written from it"
    ),
    ("hsd_viz/cli/", "hsd_viz/decoding/options.py", "hsd_viz/engine/options.py"): Step(
        "make ready", "the reference and options of the page are written from it"
    ),
    ("hsd_viz/native/interface.py", "hsd_viz/native/structures.py", "hsd_viz/native/src/"): Step(
        "make ready", "headers, and with clang 14 the runtime of browser tabs, are made from it"
    ),
    ("js/",): Step("make ready && make views-check", "the built files of the page are committed"),
    ("notebooks/course/master/",): Step(
        "hsd-viz course build notebooks/course --edition student --figures",
        "the student edition is committed",
    ),
    ("README.md",): Step("README.zh-CN.md", "it has the same figures"),
    ("README.zh-CN.md",): Step("README.md", "it has the same figures"),
}
#: Tests for files whose names begin so, beside those of the same name.
FURTHER_TESTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("hsd_viz/decoding/",): ("tests/lossless", "tests/native/test_loop.py"),
    ("hsd_viz/drafting/",): ("tests/lossless",),
    ("hsd_viz/native/src/",): ("tests/native", "tests/lossless", "tests/js/test_tab.py"),
    ("hsd_viz/exercises/", "notebooks/course/"): ("tests/exercises",),
    ("hsd_viz/mcp/",): ("tests/mcp_server",),
    ("tests/mutants/", "tests/figures_by_hand.toml"): ("tests/tools/test_mutants.py",),
    ("tests/fixtures/records/",): ("tests/records", "tests/measure/doctor"),
    ("tests/fixtures/",): ("tests/test_old_files.py",),
    ("js/",): ("tests/js", "tests/browser"),
    ("docs/", "README", "CONTRIBUTING.md"): ("tests/test_docs.py", "tests/test_chinese.py"),
    ("notebooks/",): ("tests/notebooks",),
    ("Makefile", "pyproject.toml", "constraints.txt"): ("tests/test_setup.py",),
}


def changed_files(root: Path = ROOT) -> list[str]:
    """Return the files that differ from the last commit, new and removed ones included."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(entry[3:] for entry in listed.split("\0") if entry)


def select_tests(files: Iterable[str]) -> list[str]:
    """Return the folders and files of tests for changed files, none inside another."""
    tests: set[str] = set()
    for file in files:
        if own := _own_test(Path(file)):
            tests.add(own)
        for beginnings, further in FURTHER_TESTS.items():
            if file.startswith(beginnings):
                tests.update(further)
    return sorted(test for test in tests if not _is_inside(test, tests))


def _own_test(file: Path) -> str | None:
    """Return the test, or the folder of tests, that has the name of a file or of its folders."""
    if file.parts[0] == "tests":
        own = file if file.name.startswith("test_") else file.parent
        is_here = (ROOT / own).is_file() or any((ROOT / own).glob("test_*.py"))
        return own.as_posix() if is_here and own != Path("tests") else None
    inside = file.relative_to("hsd_viz") if file.parts[0] == "hsd_viz" else file
    candidates = [f"tests/test_{inside.stem}.py"] if inside.parent == Path() else []
    candidates += [f"tests/{folder.as_posix()}" for folder in inside.parents if folder != Path()]
    return next((test for test in candidates if (ROOT / test).exists()), None)


def _is_inside(test: str, tests: Iterable[str]) -> bool:
    return any(test.startswith(f"{other}/") for other in tests)


def next_steps(files: Sequence[str]) -> list[Step]:
    """Return the steps before a commit of changed files, in their order."""
    steps: list[Step] = []
    for beginnings, step in STEPS.items():
        is_needed = any(file.startswith(beginnings) for file in files)
        if is_needed and step.what not in files:
            steps.append(step)
    if tests := select_tests(files):
        steps.append(Step(f"{PYTHON} -m pytest -q {' '.join(tests)}", "the tests of the change"))
    for package in sorted({fault.package for fault in read_mutants() if fault.file in files}):
        command = f"{PYTHON} -m tools.mutants --only {package}"
        steps.append(Step(command, "a test must notice faults of the changed files"))
    steps.append(Step("make check", "format, lint, wording, types, legibility"))
    return steps


def main() -> int:
    """Print the steps, each with its reason."""
    files = changed_files()
    if not files:
        print("nothing changed since the last commit")
        return 0
    print(f"{len(files)} changed files; before the commit:")
    for step in next_steps(files):
        print(f"  {step.what}\n      {step.why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
