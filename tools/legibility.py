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

ROOT = Path(__file__).resolve().parents[1]
#: Parts of the project in Python. Ruff limits their lines.
PARTS = ("hsd_viz", "tests", "benchmarks", "tools", "training")
#: Parts in other languages, with their files; only their lines are measured.
OTHER_PARTS = {"js": "*.ts", "hsd_viz/native/src": "*.hpp"}
COLUMNS = 100
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
        assignments: the number of assignments.
        tuples: the lines of ``a, b = x, y``; an exchange of two names does not count.
        splats: the lines of calls with ``**values``.
        nested: the lines of conditional expressions, and of comprehensions, inside another.
    """

    assignments: int = 0
    tuples: list[int] = field(default_factory=list)
    splats: list[int] = field(default_factory=list)
    nested: list[int] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Add the counts of another text."""
        self.assignments += other.assignments
        self.tuples += other.tuples
        self.splats += other.splats
        self.nested += other.nested


def counts_of(text: str) -> Counts:
    """Count in a text of Python."""
    counts = Counts()
    for node in ast.walk(ast.parse(text)):
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


def _is_nested(node: ast.AST) -> bool:
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
    share = len(counts.tuples) / max(1, counts.assignments)
    if share > MAX_TUPLES:
        problems.append(f"{part}: {share:.2%} of the assignments are of tuples ({MAX_TUPLES:.0%})")
    if len(counts.splats) > MAX_SPLATS:
        problems.append(f"{part}: {len(counts.splats)} calls with **values ({MAX_SPLATS})")
    if counts.nested:
        problems.append(f"{part}: {len(counts.nested)} nested expressions (0)")
    return problems


def long_lines(path: Path, pattern: str) -> list[str]:
    """Return the places of lines that are too long."""
    found = []
    for file in files_of(path, pattern):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if len(line) > COLUMNS:
                found.append(
                    f"{file.relative_to(ROOT).as_posix()}:{number}: over {COLUMNS} columns"
                )
    return found


def check() -> list[str]:
    """Print the counts of each part, and return what exceeds a limit."""
    problems = []
    print(f"{'':12}{'assignments':>12}{'of tuples':>12}{'**values':>12}{'nested':>12}")
    for part in PARTS:
        total = Counts()
        for file in files_of(ROOT / part):
            total.add(counts_of(file.read_text(encoding="utf-8")))
        columns = (total.assignments, len(total.tuples), len(total.splats), len(total.nested))
        print(f"{part:12}" + "".join(f"{column:12}" for column in columns))
        problems += excesses(part, total)
    for part, pattern in OTHER_PARTS.items():
        problems += long_lines(ROOT / part, pattern)
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
