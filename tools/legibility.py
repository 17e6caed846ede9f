"""Count what makes code hard to read and what no linter counts, and hold each part of the project
to its limits.

    python -m tools.legibility [PATH ...]

Without a path it prints the counts of each part, and exits with code 1 if a limit is exceeded. With
paths it prints the lines that count, file by file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parents[1]
#: Parts of the project in Python. Ruff limits the longest of their lines.
PARTS = ("hsd_viz", "tests", "benchmarks", "tools", "training")
#: Parts in other languages, with their files; only their lines are measured.
OTHER_PARTS = {"js": "*.ts", "hsd_viz/native/src": "*.hpp"}
COLUMNS = 100
#: The most characters of a line of a part, on average of those that are not blank.
MAX_MEAN_LINE = 46.0
#: The most comprehensions in a part, per 100 statements.
MAX_COMPREHENSIONS = 4.0
#: The most assignments of tuples in a part, as a share of all assignments.
MAX_TUPLES = 0.01
#: The most calls with ``**values`` in a part.
MAX_SPLATS = 20
_NOT_OURS = ("js/node_modules",)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class Counts:
    """What was counted in a text.

    Attributes:
        lines: the number of lines that are not blank.
        characters: the number of characters of those lines.
        statements: the number of statements.
        comprehensions: the number of comprehensions and generator expressions.
        assignments: the number of assignments.
        tuples: the lines of ``a, b = x, y``; an exchange of two names does not count.
        splats: the lines of calls with ``**values``.
        nested: the lines of conditional expressions, and of comprehensions, inside another.
    """

    lines: int = 0
    characters: int = 0
    statements: int = 0
    comprehensions: int = 0
    assignments: int = 0
    tuples: list[int] = field(default_factory=list)
    splats: list[int] = field(default_factory=list)
    nested: list[int] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Add the counts of another text."""
        self.lines += other.lines
        self.characters += other.characters
        self.statements += other.statements
        self.comprehensions += other.comprehensions
        self.assignments += other.assignments
        self.tuples += other.tuples
        self.splats += other.splats
        self.nested += other.nested

    @property
    def mean_line(self) -> float:
        """The characters of a line that is not blank, on average."""
        return self.characters / max(1, self.lines)

    @property
    def tuple_share(self) -> float:
        """The assignments of tuples as a share of all assignments."""
        return len(self.tuples) / max(1, self.assignments)

    @property
    def comprehension_rate(self) -> float:
        """The comprehensions per 100 statements."""
        return 100 * self.comprehensions / max(1, self.statements)


def line_counts(text: str) -> Counts:
    """Count the lines of a text of any language."""
    lengths = [len(line) for line in text.splitlines() if line.strip()]
    return Counts(lines=len(lengths), characters=sum(lengths))


def counts_of(text: str) -> Counts:
    """Count in a text of Python."""
    counts = line_counts(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            counts.statements += 1
        if isinstance(node, _COMPREHENSIONS):
            counts.comprehensions += 1
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            counts.assignments += 1
        if isinstance(node, ast.Assign) and _assigns_tuple(node):
            counts.tuples.append(node.lineno)
        if isinstance(node, ast.Call):
            counts.splats += [node.lineno for keyword in node.keywords if keyword.arg is None]
        if _is_nested(node):
            counts.nested.append(node.lineno)
    return counts


def _assigns_tuple(node: ast.Assign) -> bool:
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    assigned = sorted(ast.unparse(element) for element in target.elts)
    return assigned != sorted(ast.unparse(element) for element in node.value.elts)


def _is_nested(node: ast.AST) -> TypeGuard[ast.expr]:
    if isinstance(node, ast.IfExp):
        return _contains(node, (ast.IfExp,))
    if isinstance(node, _COMPREHENSIONS):
        return len(node.generators) > 1 or _contains(node, _COMPREHENSIONS)
    return False


def _contains(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    return any(inner is not node and isinstance(inner, kinds) for inner in ast.walk(node))


def files_of(path: Path, pattern: str = "*.py") -> Iterator[Path]:
    """Yield a file, or the files of a folder that match."""
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob(pattern)):
        if not file.relative_to(ROOT).as_posix().startswith(_NOT_OURS):
            yield file


def excesses(part: str, counts: Counts) -> list[str]:
    """Return a line for each limit that a part exceeds."""
    problems = []
    if counts.mean_line > MAX_MEAN_LINE:
        problems.append(
            f"{part}: a line has {counts.mean_line:.1f} characters on average ({MAX_MEAN_LINE:g})"
        )
    if counts.comprehension_rate > MAX_COMPREHENSIONS:
        problems.append(
            f"{part}: {counts.comprehension_rate:.2f} comprehensions per 100 statements"
            f" ({MAX_COMPREHENSIONS:g})"
        )
    if counts.tuple_share > MAX_TUPLES:
        problems.append(
            f"{part}: {counts.tuple_share:.2%} of the assignments are of tuples ({MAX_TUPLES:.0%})"
        )
    if len(counts.splats) > MAX_SPLATS:
        problems.append(f"{part}: {len(counts.splats)} calls with **values ({MAX_SPLATS})")
    if counts.nested:
        problems.append(f"{part}: {len(counts.nested)} nested expressions (0)")
    return problems


def long_lines(path: Path, pattern: str) -> list[str]:
    """Return the places of lines that are too long."""
    places = []
    for file in files_of(path, pattern):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if len(line) > COLUMNS:
                places.append(
                    f"{file.relative_to(ROOT).as_posix()}:{number}: over {COLUMNS} columns"
                )
    return places


def check() -> list[str]:
    """Print the counts of each part, and return what exceeds a limit."""
    problems = []
    heads = ("lines", "mean line", "tuples", "**values", "compr./100", "nested")
    print(f"{'':20}" + "".join(f"{head:>12}" for head in heads))
    for part in PARTS:
        total = Counts()
        for file in files_of(ROOT / part):
            total.add(counts_of(file.read_text(encoding="utf-8")))
        print(
            f"{part:20}{total.lines:12}{total.mean_line:12.1f}{total.tuple_share:12.2%}"
            f"{len(total.splats):12}{total.comprehension_rate:12.2f}{len(total.nested):12}"
        )
        problems += excesses(part, total)
    for part, pattern in OTHER_PARTS.items():
        total = Counts()
        for file in files_of(ROOT / part, pattern):
            total.add(line_counts(file.read_text(encoding="utf-8")))
        print(f"{part:20}{total.lines:12}{total.mean_line:12.1f}")
        problems += excesses(part, total) + long_lines(ROOT / part, pattern)
    return problems


def show(paths: Sequence[str]) -> None:
    """Print the lines that count."""
    for path in paths:
        for file in files_of(Path(path).resolve()):
            counts = counts_of(file.read_text(encoding="utf-8"))
            named = {"tuples": counts.tuples, "**values": counts.splats, "nested": counts.nested}
            for name, lines in named.items():
                if lines:
                    print(f"{file}: {name}: line {', '.join(map(str, sorted(lines)))}")


def main(paths: Sequence[str]) -> int:
    """Show the lines of paths, or check the parts."""
    if paths:
        show(paths)
        return 0
    problems = check()
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
