"""Apply the faults, one at a time, to a copy of the project, and run the test that must notice.

``python -m tools.mutants [--only PACKAGE ...]`` takes the faults of a package (C++ is in
``native``), of a module beside the packages (``disk``) or of a folder beside ``hsd_viz`` (``js``);
by default all. A fault is killed if its test fails, ends its process or does not end. Exit code 1:
a test passed in spite of a fault, failed without one, or a text was not found exactly once; 2: an
unknown package, or one without faults. The C++ library of a fault is compiled with little
optimization, into a folder that goes with the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.mutants.lists import ROOT, Mutant, read_mutants

#: Seconds for one run of tests, after which they count as endless.
PATIENCE = 600
#: Tests that do not run, as on a machine that is too busy to start them, are started so many times.
ATTEMPTS = 2
_LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "site", "__pycache__")


def passes(tests: list[str], root: Path, patience: float = PATIENCE) -> bool:
    """Return whether tests of one kind pass in the project at ``root``.

    Tests that end their process do not pass, a fault of compiled code can do that; nor do tests
    that take longer than ``patience``, in seconds.

    Raises:
        ValueError: if they do not run, twice.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    folder = root
    if tests[0].startswith("js/"):
        file, _, name = tests[0].removeprefix("js/").partition("::")
        command = ["npx", "vitest", "run", "--silent=true", file]
        command += ["-t", re.escape(name)] if name else []
        folder = root / "js"
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HSD_VIZ_CACHE": str(root.parent / "cache"), "HSD_VIZ_CXXFLAGS": "-O1"}
    for _ in range(ATTEMPTS):
        try:
            code, output = _run(command, folder, environment, patience)
        except subprocess.TimeoutExpired:
            return False
        if code < 0:
            return False
        all_skipped = " skipped" in output and " passed" not in output and not code
        if code in (0, 1) and not all_skipped:
            return code == 0
    reason = (output.strip().splitlines() or ["no output"])[-1]
    raise ValueError(f"{tests[0]} does not run: {reason}")


def _run(
    command: list[str], folder: Path, environment: dict[str, str], patience: float
) -> tuple[int, str]:
    """Run a command, and return its exit code with its output.

    Raises:
        TimeoutExpired: if it takes longer than ``patience``; its processes are killed.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, output


def unfit(mutants: list[Mutant], root: Path) -> dict[str, str]:
    """Return the tests that do not pass without a fault, each with the reason.

    Those of Python run together first, one by one if one fails.
    """
    tests = [*dict.fromkeys(mutant.test for mutant in mutants)]
    python = [test for test in tests if not test.startswith("js/")]
    together = False
    with contextlib.suppress(ValueError):
        together = bool(python) and passes(python, root)
    reasons: dict[str, str] = {}
    for test in tests:
        if test in python and together:
            continue
        try:
            if not passes([test], root):
                reasons[test] = f"fails without the fault: {test}"
        except ValueError as error:
            reasons[test] = str(error)
    return reasons


def verdict(mutant: Mutant, root: Path, patience: float = PATIENCE) -> str:
    """Return what the test of a fault says of it; the project at ``root`` is left as it was."""
    path = root / mutant.file
    source = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.applied(source), encoding="utf-8")
        return "survived" if passes([mutant.test], root, patience) else "killed"
    except ValueError as error:
        return str(error)
    finally:
        path.write_text(source, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the faults, print one line for each and a summary."""
    mutants = read_mutants()
    packages = sorted({mutant.package for mutant in mutants})
    parser = argparse.ArgumentParser(
        "python -m tools.mutants", description=f"Packages: {', '.join(packages)}."
    )
    parser.add_argument(
        "--only",
        action="append",
        nargs="?",
        const="",
        default=[],
        metavar="PACKAGE",
        help="the package of the faults; may be repeated",
    )
    options, unknown = parser.parse_known_args(arguments)
    wrong = [*unknown, *(package for package in options.only if package not in packages)]
    if wrong:
        print(
            f"there are no faults of {wrong[0]!r}: use --only with {', '.join(packages)}",
            file=sys.stderr,
        )
        return 2
    if options.only:
        mutants = [mutant for mutant in mutants if mutant.package in options.only]
    verdicts = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        (copy / "js" / "node_modules").symlink_to((ROOT / "js" / "node_modules").resolve())
        reasons = unfit(mutants, copy)
        for mutant in mutants:
            outcome = reasons.get(mutant.test) or verdict(mutant, copy)
            verdicts[outcome] += 1
            print(f"{outcome}: {mutant.file}: {mutant.fault}", flush=True)
    killed = verdicts["killed"]
    survived = verdicts["survived"]
    not_run = len(mutants) - killed - survived
    print(f"{len(mutants)} faults: {killed} killed, {survived} survived, {not_run} did not run")
    return int(killed < len(mutants))
