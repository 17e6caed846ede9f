"""Follow the texts and tests of the lists that moved to another file.

``python -m tools.mutants.follow`` writes the lists with the files in which they now are. Exit code
1: a text or a test is in no other file, or in several; the fault is printed and stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tools.mutants.lists import (
    ROOT,
    Figure,
    Mutant,
    pattern,
    read_figures,
    read_mutants,
    write_figures,
    write_mutants,
)

#: Where a text or a test can be, by the ending of the file in which it was.
FOLDERS = {
    ".py": ("hsd_viz", "benchmarks", "tools", "training"),
    ".hpp": ("hsd_viz/native/src",),
    ".cpp": ("hsd_viz/native/src",),
    ".ts": ("js",),
}


def followed(mutant: Mutant, root: Path = ROOT) -> Mutant:
    """Return a fault with the files in which its text and its test are.

    Raises:
        ValueError: if one of them is in no file, or in several.
    """
    return replace(mutant, file=_file_of(mutant, root), test=_test_of(mutant, root))


def _file_of(mutant: Mutant, root: Path) -> str:
    """Return the file that has the text of a fault once."""
    text = pattern(mutant.text)

    def has_it_once(path: Path) -> bool:
        return len(text.findall(path.read_text(encoding="utf-8"))) == 1

    path = root / mutant.file
    if path.exists() and has_it_once(path):
        return mutant.file
    places = [path for path in _files(root, path.suffix) if has_it_once(path)]
    return _only(places, mutant.text, root)


def _test_of(mutant: Mutant, root: Path) -> str:
    """Return the test of a fault, with the file that defines it."""
    file, separator, name = mutant.test.partition("::")
    path = root / file
    if file.startswith("js/"):
        definition = re.compile(re.escape(name))
        candidates = root.glob("js/**/*.test.ts")
    else:
        definition = re.compile(rf"def {re.escape(name.partition('[')[0])}\b")
        candidates = root.glob("tests/**/test_*.py")
    if path.exists() and definition.search(path.read_text(encoding="utf-8")):
        return mutant.test
    places = []
    for other in candidates:
        is_ours = "node_modules" not in other.parts
        if is_ours and definition.search(other.read_text(encoding="utf-8")):
            places.append(other)
    return _only(places, mutant.test, root) + separator + name


def _files(root: Path, suffix: str) -> Iterator[Path]:
    """Yield the files with an ending in which a text can be."""
    for folder in FOLDERS[suffix]:
        for path in sorted((root / folder).rglob(f"*{suffix}")):
            if "node_modules" not in path.parts:
                yield path


def _only(places: list[Path], what: str, root: Path) -> str:
    """Return the only place as a name in the project."""
    names = [place.relative_to(root).as_posix() for place in places]
    if len(names) != 1:
        raise ValueError(f"{what} is in {', '.join(names) or 'no file'}")
    return names[0]


def with_tests(figures: Iterable[Figure], tests: Mapping[str, str]) -> list[Figure]:
    """Return figures with the tests that moved where they now are.

    Args:
        figures: the figures.
        tests: for each test that moved, where it was and where it is.
    """
    return [replace(figure, test=tests.get(figure.test, figure.test)) for figure in figures]


def main() -> int:
    """Write the lists, and print what moved and what was not found."""
    mutants = []
    tests = {}
    lost = 0
    for mutant in read_mutants():
        try:
            moved = followed(mutant)
        except ValueError as error:
            lost += 1
            print(f"{mutant.file}: {error}", file=sys.stderr)
            moved = mutant
        if moved != mutant:
            tests[mutant.test] = moved.test
            print(f"{mutant.file} > {moved.file}: {mutant.text}")
        mutants.append(moved)
    write_mutants(mutants)
    write_figures(with_tests(read_figures(), tests))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
