"""Apply the faults of ``tests/mutants.md``, one at a time, to a copy of the project, and run the
test that must notice.

A text of the list is compared with the source by its words and signs: line breaks, indentation and
a trailing comma before a closing bracket do not matter, so that a formatter can wrap the source.

``python -m tools.mutants [--only ROOM ...]`` takes the faults of a package (C++ is in ``native``),
of a module beside the packages (``stack``) or of a folder beside ``hsd_viz`` (``js``); by default
all. Exit code 1: a test passed in spite of a fault, failed without one, or a text was not found
exactly once; 2: an unknown room, or one without faults. The C++ library of a fault is compiled with
little optimization, into a folder that goes with the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants.md"
#: Seconds for one run of tests.
PATIENCE = 600
#: Tests that do not run, as on a machine that is too busy to start them, are started so many times.
ATTEMPTS = 2
_LINE = re.compile(
    r"\| (?P<file>\S+) \| `(?P<text>.+?)` \| `(?P<fault>.+?)` \| (?P<test>\S.*\S) \|$"
)
_PIECE = re.compile(r"\w+|[^\w\s]")
_CLOSING = frozenset(")]}")
_LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "site", "__pycache__")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and the test that must fail with it.

    Attributes:
        file: The file.
        text: What the file has exactly once.
        fault: What it becomes.
        test: The test, as pytest or vitest names it.
    """

    file: str
    text: str
    fault: str
    test: str

    @property
    def room(self) -> str:
        """The package of the file, its module beside the packages, or its folder beside
        ``hsd_viz``.
        """
        return re.split(r"[/.]", self.file.removeprefix("hsd_viz/"))[0]

    def applied(self, source: str) -> str:
        """Return the source with the fault.

        Raises:
            ValueError: if the text is not there exactly once; with the line that is most like it.
        """
        places = [*pattern(self.text).finditer(source)]
        if len(places) != 1:
            similar = "" if places else _most_like(self.text, source)
            raise ValueError(
                f"{self.file} has {len(places)} times {self.text!r}{similar}: "
                "update tests/mutants.md"
            )
        start, end = places[0].span()
        return source[:start] + self.fault.strip() + source[end:]


def _most_like(text: str, source: str) -> str:
    """Return which line of a source is most like a text, "" if none is."""
    lines = [line.strip() for line in source.splitlines()]
    similar = get_close_matches(text, lines, n=1)
    return f", but {similar[0]!r}" if similar else ""


def pattern(text: str) -> re.Pattern[str]:
    """Return the expression that finds a text of one line however a formatter wrapped it."""
    expression = ""
    before = ""
    pieces = _PIECE.findall(text)
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        if piece == "," and following in _CLOSING:
            continue
        if before:
            # Two words are two only if something is between them.
            expression += r"\s+" if _is_word(before) and _is_word(piece) else r"\s*"
        if before and piece in _CLOSING:
            expression += r"(?:,\s*)?"
        expression += re.escape(piece)
        before = piece
    return re.compile(expression)


def _is_word(piece: str) -> bool:
    return re.fullmatch(r"\w+", piece) is not None


def listed(path: Path = LIST) -> list[Mutant]:
    """Return all faults."""
    matches = map(_LINE.match, path.read_text(encoding="utf-8").splitlines())
    return [Mutant(**match.groupdict()) for match in matches if match]


def passes(tests: list[str], root: Path) -> bool:
    """Return whether tests of one kind pass in the project at ``root``.

    A test that ends its process does not pass: a fault of compiled code can do that.
    Raises: ValueError: if they do not run, twice.
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
        process = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        output = process.stdout + process.stderr
        if process.returncode < 0:
            return False
        all_skipped = " skipped" in output and " passed" not in output and not process.returncode
        if process.returncode in (0, 1) and not all_skipped:
            return process.returncode == 0
    reason = (output.strip().splitlines() or ["no output"])[-1]
    raise ValueError(f"{tests[0]} does not run: {reason}")


def unfit(mutants: list[Mutant], root: Path) -> dict[str, str]:
    """Return the tests that do not pass without a fault, each with the reason.

    Those of Python run together first, one by one if one fails.
    """
    tests = [*dict.fromkeys(mutant.test for mutant in mutants)]
    python = [test for test in tests if not test.startswith("js/")]
    together = False
    with contextlib.suppress(ValueError, subprocess.TimeoutExpired):
        together = bool(python) and passes(python, root)
    reasons: dict[str, str] = {}
    for test in tests:
        if test in python and together:
            continue
        try:
            if not passes([test], root):
                reasons[test] = f"fails without the fault: {test}"
        except (ValueError, subprocess.TimeoutExpired) as error:
            reasons[test] = str(error)
    return reasons


def verdict(mutant: Mutant, root: Path) -> str:
    """Return what the test of a fault says of it; the project at ``root`` is left as it was."""
    path = root / mutant.file
    source = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.applied(source), encoding="utf-8")
        return "survived" if passes([mutant.test], root) else "killed"
    except (ValueError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        path.write_text(source, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the faults, print one line for each and a summary."""
    mutants = listed()
    verdicts = Counter[str]()
    room_names = sorted({mutant.room for mutant in mutants})
    parser = argparse.ArgumentParser(
        "python -m tools.mutants", description=f"Rooms: {', '.join(room_names)}."
    )
    parser.add_argument(
        "--only",
        action="append",
        nargs="?",
        const="",
        metavar="ROOM",
        help="the room of the faults; may be repeated",
    )
    rooms, unknown = parser.parse_known_args(arguments)
    asked_for = rooms.only or ()
    wrong = [*unknown, *(room for room in asked_for if room not in room_names)]
    if wrong:
        print(
            f"there are no faults of {wrong[0]!r}: use --only with {', '.join(room_names)}",
            file=sys.stderr,
        )
        return 2
    mutants = [mutant for mutant in mutants if not rooms.only or mutant.room in rooms.only]
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
